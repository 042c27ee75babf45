"""nccl-tests: published tables to the last figure, and the tables that look sound and are not."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_tests

from .logs import codes, log
from .nccl_shapes import DIED

HEAD = (
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
    "#\n# Using devices\n"
)
COLUMNS = (
    "#       size         count      type   redop    root "
    "    time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
)


def device(rank: int, host: str, pid: int = 1) -> str:
    return f"#  Rank {rank:2} Group  0 Pid {pid:6} on {host:>10} device  0 [0x03] NVIDIA A100-PCIE-40GB\n"


def devices(ranks: int = 4) -> str:
    return "".join(device(rank, f"gpu{rank + 1:02}", 100 + rank) for rank in range(ranks))


def row(size: int, algbw: float = 8.0, factor: float = 1.5, wrong: str = "0", tail: str = "") -> str:
    half = f"{size / algbw / 1e3:8.1f} {algbw:7.2f} {algbw * factor:7.2f} {wrong:>6}"
    return f"{size:12} {size // 4:13}     float     sum      -1 {half} {half}{tail}\n"


def footer(average: float = 12.0, bounds: str = "0 OK", word: str = "") -> str:
    return f"# Out of bounds values : {bounds}\n# Avg bus bandwidth    : {average} {word}\n#\n"


SOUND = HEAD + devices() + COLUMNS + row(1048576) + row(2097152) + footer()


def test_eight_gpus_of_one_host_unchecked_with_a_line_of_nccl_inside() -> None:
    result = nccl_tests.read(log("nccl_tests_8_gpus_unchecked.txt"))
    (table,) = result.parts
    assert (result.good, result.more["one_job"], table.ranks, table.checked) == (True, True, 8, False)
    assert [row.size for row in table.rows[:4]] == [0, 0, 4, 8]
    assert len(table.rows) == 34
    assert table.largest is not None and table.largest.out_of_place is not None
    assert (table.largest.size, table.largest.busbw, table.largest.out_of_place.time_us) == (8589934592, 235.26, 63896)
    assert (table.average_busbw, table.out_of_bounds, table.out_of_bounds_ok) == (68.4048, 0, True)
    assert table.bus_factor() == pytest.approx(2 * 7 / 8, rel=1e-3)


def test_groups_beside_each_other_have_the_factor_of_one_group() -> None:
    """NCCL_TESTS_SPLIT: a communicator for every second rank, and rank 0 prints what its own one did."""
    listed = re.sub(r"(Rank  [13]) Group  0", r"\1 Group  1", devices())
    for factor, good in ((1.0, True), (1.5, False)):
        rows = row(1048576, factor=factor) + row(2097152, factor=factor)
        assert nccl_tests.read(HEAD + listed + COLUMNS + rows + footer(8.0 * factor), 4, 4).good is good


def test_old_table_of_sixteen_ranks_without_root_column() -> None:
    result = nccl_tests.read(log("nccl_tests_16_ranks_roce.txt"), expected_ranks=16)
    (table,) = result.parts
    assert (result.good, len(table.rows), table.average_busbw) == (True, 29, 7.76739)
    assert max(row.out_of_place.busbw for row in table.rows if row.out_of_place) == 22.92
    first = table.rows[0]
    assert first.root is None and first.out_of_place is not None and first.in_place is not None
    assert (first.out_of_place.wrong, first.in_place.time_us) == (2e-07, 132.2)


def test_published_page_whose_head_is_not_of_its_rows_is_reported() -> None:
    result = nccl_tests.read(log("nccl_tests_h100.txt"))
    (table,) = result.parts
    assert [row.out_of_place.busbw for row in table.rows if row.out_of_place] == [
        356.01,
        365.90,
        380.73,
        383.23,
        386.56,
    ]
    assert (table.average_busbw, table.checked) == (373.187, True)
    assert codes(result) == ["outside_range"]  # rows up to 8 GiB under a head that says 2 GiB
    # The page says 64 GPUs; its own figures are those of 96.
    assert table.bus_factor() == pytest.approx(2 * 95 / 96, rel=1e-3)
    assert "factor_disagrees" not in codes(nccl_tests.read(log("nccl_tests_h100.txt"), expected_ranks=96))


def test_binary_without_mpi_is_no_common_job() -> None:
    result = nccl_tests.read(log("nccl_tests_without_mpi.txt"), expected_ranks=4, expected_hosts=2)
    assert (result.good, result.more["one_job"]) == (False, False)
    (problem,) = [entry for entry in result.problems if entry.code == "not_one_job"]
    assert "testgpu1, testgpu2" in problem.message
    assert "MPI=1" in problem.message
    assert "unreadable_row" in codes(result)  # the quotation ends in the middle of a row


@pytest.mark.parametrize(
    "text",
    [
        HEAD + HEAD + devices() + COLUMNS + row(1048576) + row(2097152) + footer(),
        HEAD + device(0, "gpu01", 1) + device(0, "gpu02", 2) + COLUMNS + row(1048576) + footer(),
        "".join(
            f"[1,{rank}]<stdout>:{line}\n"
            for rank in range(2)
            for line in (HEAD + device(0, f"gpu0{rank}") + COLUMNS + row(1048576) + footer()).splitlines()
        ),
    ],
    ids=["two_heads", "a_rank_twice", "each_tagged_rank_prints_a_table"],
)
def test_every_sign_of_separate_jobs_counts(text: str) -> None:
    result = nccl_tests.read(text)
    assert result.more["one_job"] is False
    assert codes(result).count("not_one_job") == 1


def test_sound_table_is_good_and_plain_json() -> None:
    result = nccl_tests.read(SOUND, expected_ranks=4, expected_hosts=4)
    assert codes(result) == []
    assert result.good
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["tables"][0]["largest"]["busbw"] == 12.0
    assert data["tables"][0]["hosts"] == ["gpu01", "gpu02", "gpu03", "gpu04"]


@pytest.mark.parametrize("said", DIED)
def test_a_run_whose_launcher_says_that_it_failed_is_not_ok(said: str) -> None:
    found = nccl_tests.read(f"{SOUND}{said}\n").as_dict()
    assert [(problem["code"], said in problem["message"]) for problem in found["problems"]] == [("failed", True)]
    assert found["tables"][0]["ok"]


def test_several_jobs_of_one_log_are_kept_apart() -> None:
    failed = HEAD + devices() + "gpu01: Test NCCL failure common.cu:499 'unhandled system error'\n"
    result = nccl_tests.read(SOUND + failed + SOUND.replace("1048576 ", "1048580 "))
    assert result.more["one_job"] is True
    assert [len(table.rows) for table in result.parts] == [2, 0, 2]
    assert codes(result) == ["failed"]


def test_the_closing_line_ends_a_table_also_where_the_next_has_no_head() -> None:
    """Logs of several runs whose later heads were cut off by who quoted them."""
    result = nccl_tests.read(
        SOUND + COLUMNS + row(1048576) + row(2097152) + footer() + COLUMNS + row(4194304) + footer()
    )
    assert [[entry.size for entry in table.rows] for table in result.parts] == [
        [entry.size for entry in nccl_tests.read(SOUND).parts[0].rows],
        [1048576, 2097152],
        [4194304],
    ]
    assert [table.average_busbw for table in result.parts] == [12.0, 12.0, 12.0]
    assert "average_disagrees" not in codes(result)


def test_rows_of_a_collective_that_reduces_nothing_are_of_another_table() -> None:
    gathered = (row(1048576) + row(2097152)).replace(" sum ", " none ")
    result = nccl_tests.read(HEAD + devices() + COLUMNS + gathered + row(1048576) + row(2097152) + footer())
    assert [[each.redop for each in table.rows] for table in result.parts] == [["none"] * 2, ["sum"] * 2]
    assert [table.finished for table in result.parts] == [False, True]
    assert "unfinished" in codes(result)


def test_the_place_in_the_source_where_a_patched_program_prints_is_taken_off() -> None:
    text = "".join(
        f"run(), common.cu:{number}, {line}" if line.startswith("#") else line
        for number, line in enumerate(SOUND.splitlines(keepends=True), 967)
    )
    assert nccl_tests.read(text + text).as_dict() == nccl_tests.read(SOUND + SOUND).as_dict()


def test_ranks_are_counted_from_the_highest_where_the_list_is_cut() -> None:
    text = "".join(line for line in SOUND.splitlines(keepends=True) if not re.match(r"#\s+Rank\s+[12] ", line))
    assert text != SOUND
    assert nccl_tests.read(text).parts[0].ranks == 4
    assert codes(nccl_tests.read(text)) == ["missing_ranks"]


def test_the_labels_of_srun_are_taken_off() -> None:
    text = "".join(f" 0: {line}" for line in SOUND.splitlines(keepends=True))
    assert nccl_tests.read(text).as_dict()["tables"] == nccl_tests.read(SOUND).as_dict()["tables"]
    both = "".join(f"{task}: {line}" for line in SOUND.splitlines(keepends=True) for task in (0, 1))
    assert "not_one_job" in codes(nccl_tests.read(both))


def test_rows_that_lines_of_nccl_break_are_put_together() -> None:
    call = "gpu01:100:100 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7 recvbuff 0x9 count 262144 datatype 7\n"
    text = ""
    for line in SOUND.splitlines(keepends=True):
        if "     float" in line:
            words = line.rstrip().split("     -1 ")
            half = words[1][: len(words[1]) // 2]
            text += f"{words[0]}     -1{call}{call}{half}{call}{call}{words[1][len(half) :]}\n"
        else:
            text += line
    assert text.count("NCCL INFO") == 8
    assert nccl_tests.read(text).as_dict() == nccl_tests.read(SOUND).as_dict()


def test_lines_that_lost_their_mark_in_a_page_are_read() -> None:
    text = SOUND.replace("# nThread", "nThread", 1).replace("#  Rank  0", "  Rank  0", 1)
    assert text.count("#  Rank") == 3
    assert nccl_tests.read(text).as_dict() == nccl_tests.read(SOUND).as_dict()


@pytest.mark.parametrize(
    ("text", "ranks", "hosts", "code"),
    [
        (SOUND, 8, None, "missing_ranks"),
        (SOUND, 4, 5, "missing_hosts"),
        (HEAD + devices() + COLUMNS + row(1048576), 4, None, "unfinished"),
        (HEAD + devices() + COLUMNS + row(1048576, wrong="3") + footer(), 4, None, "wrong_values"),
        (HEAD + devices() + COLUMNS + row(1048576) + footer(bounds="7 FAILED"), 4, None, "out_of_bounds"),
        (SOUND.replace("# Avg", "# Bitwise mismatches   : 3 FAILED\n# Avg"), 4, None, "not_repeatable"),
        (HEAD + devices() + COLUMNS + row(1048576) + footer(word="FAILED"), 4, None, "below_minimum"),
        (HEAD + devices(1) + COLUMNS + row(1048576, factor=0) + footer(0), 1, None, "one_rank"),
        (HEAD + devices() + COLUMNS + row(1048576) + footer(20.0), 4, None, "average_disagrees"),
        (HEAD + devices(2) + COLUMNS + row(1048576) + footer(), 2, None, "factor_disagrees"),
        (HEAD + devices() + COLUMNS + row(2097152) + row(1048576) + footer(), 4, None, "sizes_go_back"),
        (SOUND.replace(" 8.00 ", "  nan "), 4, None, "not_finite"),
        (SOUND.replace(" 8.00 ", "  inf "), 4, None, "not_finite"),
        (SOUND.replace("     sum      -1", "     sum  1 2 -1"), 4, None, "unreadable_row"),
        (
            HEAD + COLUMNS + row(1048576, tail=" 2026-11-21 10:00:09") + row(2097152, tail=" 2026-11-21 09:00:01"),
            None,
            None,
            "clock_backwards",
        ),
        ("gpu01: Test CUDA failure common.cu:1 'out of memory'\n", 4, None, "failed"),
        ("Invalid number of GPUs: 8 requested but only 4 were found.\n", 4, None, "failed"),
        (HEAD + SOUND.partition("# Using devices\n")[2].replace("#  Rank", "# Rank"), 4, None, "no_problem"),
    ],
)  # fmt: skip
def test_problems_are_named(text: str, ranks: int | None, hosts: int | None, code: str) -> None:
    result = nccl_tests.read(text, ranks, hosts)
    if code == "no_problem":
        assert result.good
    else:
        assert code in codes(result)
        assert not result.good


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # since 2022: root and #wrong
        ("8 2 float sum -1 52.70 0.00 0.00 0 56.24 0.01 0.02 0", ("sum", -1, 52.7, 0.0, 56.24, 0.02)),
        # before: neither
        ("8 2 float sum 52.70 0.00 0.00 N/A 56.24 0.01 0.02 5e-07", ("sum", None, 52.7, 0.0, 56.24, 0.02)),
        # redop left blank
        ("8 2 half -1 52.70 0.00 0.00 0 56.24 0.01 0.02 0", ("", -1, 52.7, 0.0, 56.24, 0.02)),
        # numbers shrunk
        ("8 2 bfloat16 none 0 2e+06 0.00 0.00 1e+06 56 0.01 0.02 0", ("none", 0, 2e6, 0.0, 56.0, 0.02)),
        # out-of-place left blank
        ("8 2 float sum -1                         56.24 0.01 0.02 0", ("sum", -1, None, None, 56.24, 0.02)),
        # four more columns per half (-I 1)
        (
            "8 2 f8e4m3 sum -1 52.7 0 0 0 1 2 3 4 56.24 0.01 0.02 0 1 2 3 4",
            ("sum", -1, 52.7, 0.0, 56.24, 0.02),
        ),
        # a timestamp (-S 1)
        ("8 2 float sum -1 52.7 0 0 0 56.24 0.01 0.02 0 2026-11-21 10:00:09", ("sum", -1, 52.7, 0.0, 56.24, 0.02)),
    ],
)  # fmt: skip
def test_shapes_of_rows(line: str, expected: tuple[object, ...]) -> None:
    (table,) = nccl_tests.read(line + "\n").parts
    (found,) = table.rows
    out, inside = found.out_of_place, found.in_place
    assert inside is not None
    assert (
        found.redop,
        found.root,
        out and out.time_us,
        out and out.busbw,
        inside.time_us,
        inside.busbw,
    ) == expected


def test_a_row_with_one_half_under_the_head_of_out_of_place_is_out_of_place() -> None:
    half = f"{1048576:12} {262144:13}     float     sum      -1    131.1    8.00   12.00    N/A"
    (table,) = nccl_tests.read(HEAD + devices() + COLUMNS + half + "\n" + footer()).parts
    (found,) = table.rows
    assert found.out_of_place is not None
    assert (found.out_of_place.busbw, found.in_place, table.problems.all()) == (12.0, None, ())


def test_a_head_with_timestamps_has_the_columns_of_the_others() -> None:
    """-S 1; as src/util.cu of nccl-tests writes it."""
    head = COLUMNS.replace("#wrong\n", "#wrong           timestamp\n")
    rows = [row(size, tail=f"  2026-11-21 10:00:0{second}") for second, size in enumerate((1048576, 2097152))]
    (table,) = nccl_tests.read(HEAD + devices() + head + "".join(rows) + footer(), 4).parts
    assert ([row.stamp for row in table.rows], len(table.problems)) == (
        ["2026-11-21 10:00:00", "2026-11-21 10:00:01"],
        0,
    )


def test_columns_of_newest_version_name_the_collective() -> None:
    text = "# nccl-tests version 2.17.6 nccl-headers=22807\n# Collective test starting: all_reduce_perf\n"
    result = nccl_tests.read(text + SOUND + "# Collective test concluded: all_reduce_perf\n", 4)
    assert result.good
    assert result.parts[0].collective == "all_reduce_perf"
    cut = nccl_tests.read(SOUND + "# Collective test concluded: all_gather_perf\n")
    assert [table.collective for table in cut.parts] == ["all_gather_perf"]
    cut = nccl_tests.read(SOUND.replace("#", "") + "  Collective test concluded: all_gather_perf\n")
    assert [table.collective for table in cut.parts] == ["all_gather_perf"]


def test_a_check_of_repeats_has_a_column_of_its_own_and_may_hold() -> None:
    head = COLUMNS.replace("#wrong", "#wrong  #bitdiff")
    rows = "".join(row(size, wrong="0        0") for size in (1048576, 2097152))
    text = HEAD + devices() + head + rows + footer().replace("# Avg", "# Bitwise mismatches   : 0 OK\n# Avg")
    result = nccl_tests.read(text, 4)
    assert (codes(result), len(result.parts), len(result.parts[0].rows)) == ([], 1, 2)


def test_a_test_that_says_that_it_concluded_has_ended_without_its_average() -> None:
    """writeResultFooter of nccl-tests prints this line last of all."""
    quoted = SOUND.replace("# Avg bus bandwidth    : 12.0 \n", "")
    assert codes(nccl_tests.read(quoted, 4)) == ["unfinished"]
    result = nccl_tests.read(2 * (quoted + "# Collective test concluded: all_reduce_perf\n"), 4)
    assert codes(result) == []
    assert [(table.finished, table.average_busbw, len(table.rows)) for table in result.parts] == [(True, None, 2)] * 2


@pytest.mark.parametrize(
    ("code", "said", "version"),
    [
        (23007, "", "2.30.7"),
        (2804, "", "2.8.4"),
        (22903, "NCCL version 2.29.3+cuda13.1\n", "2.29.3+cuda13.1"),
        (0, "", None),
    ],
)
def test_the_library_of_the_first_line_is_the_version_of_its_own_table(
    code: int, said: str, version: str | None
) -> None:
    first = f"# nccl-tests version 2.20.0 (abcdef0) nccl-headers=22807 nccl-library={code}\n"
    begun = f"{first}# Collective test starting: all_reduce_perf\n{HEAD}{devices()}{said}"
    result = nccl_tests.read(begun + SOUND.removeprefix(HEAD + devices()) + SOUND, 4)
    assert [table.nccl_version for table in result.parts] == [version, None]


@pytest.mark.parametrize("words", range(3, 13))
@pytest.mark.parametrize("ended", [True, False])
def test_a_row_cut_behind_any_word_is_not_a_row_of_another_shape(words: int, ended: bool) -> None:
    cut = " ".join(row(1048576).split()[:words]) + ("\n" if ended else "")
    result = nccl_tests.read(HEAD + COLUMNS + cut)
    rows = [entry for table in result.parts for entry in table.rows]
    # A whole line with five numbers behind the operation has the in-place half only.
    assert len(rows) == (1 if ended and words == 9 else 0)
    assert ("unreadable_row" in [entry.code for table in result.parts for entry in table.problems.all()]) is (not rows)


def test_two_heads_or_two_ranks_0_are_not_one_job_even_without_a_row() -> None:
    for text in (HEAD + HEAD + COLUMNS, HEAD + device(0, "gpu01", 7) + device(0, "gpu02", 8)):
        result = nccl_tests.read(text)
        assert (result.more["one_job"], codes(result)) == (False, ["not_one_job"])
    assert nccl_tests.read(HEAD + devices()).more["one_job"] is True
    for text in (HEAD + device(0, "gpu01", 7), COLUMNS + row(1048576)):
        assert nccl_tests.read(text).more["one_job"] is None


def test_a_failure_behind_the_beginning_of_a_row_is_the_line_of_the_failure() -> None:
    broken = (
        "     2097152         32768     float    none      -1 gpu01: Test CUDA failure common.cu:389 'misaligned'\n"
    )
    result = nccl_tests.read(HEAD + devices() + COLUMNS + broken + " .. gpu01 pid 7: Test failure common.cu:519\n")
    assert codes(result) == ["failed"]
    assert "misaligned" in result.problems[0].message
    assert "unreadable_row" not in [entry.code for table in result.parts for entry in table.problems.all()]


def test_the_table_of_the_first_releases_names_its_ranks_and_its_failure() -> None:
    first = "#   Rank  {0} on     gpu07 device  {0} [0x00] Tesla P100-PCIE-16GB\n"
    failed = "NCCL failure all_reduce.cu:95 'unhandled cuda error'\n"
    result = nccl_tests.read(HEAD + first.format(0) + first.format(1) + failed)
    assert (result.parts[0].ranks, result.parts[0].hosts, codes(result)) == (2, ["gpu07"], ["failed"])
    assert "unhandled cuda error" in result.problems[0].message


@pytest.mark.parametrize("mark", ["", "#  "])
def test_the_first_releases_have_milliseconds_and_types_of_c(mark: str) -> None:
    """Also where a page made a comment of each row."""
    columns = (
        "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
    )
    half = "0.500  4.00  6.00  0e+00"
    text = f"{HEAD}{columns}{mark}2000000 2000000 char sum {half} {half}\n# Avg bus bandwidth    : 6.0\n"
    (table,) = (result := nccl_tests.read(text)).parts
    assert (result.good, table.rows[0].type, table.rows[0].halves[1].time_us) == (True, "char", 500.0)


@pytest.mark.parametrize(("size", "reached"), [(2097152, True), (1048576, False)])
def test_a_table_has_reached_its_last_size(size: int, reached: bool) -> None:
    assert nccl_tests.read(HEAD + row(size)).parts[0].reached is reached
    less = "# Reducing maxBytes to 1048576 due to memory limitation\n"
    assert nccl_tests.read(HEAD + less + row(size)).parts[0].reached


@pytest.mark.parametrize(("lost", "missing"), [(1, "#wrong"), (2, "busbw #wrong"), (3, "algbw busbw #wrong")])
def test_columns_that_a_paste_cut_off_are_named_and_the_others_read(lost: int, missing: str) -> None:
    def cut(text: str) -> str:
        return "".join(" ".join(line.split()[:-lost]) + "\n" for line in text.splitlines())

    head = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    result = nccl_tests.read(cut(head + row(1048576) + row(2097152)) + footer())
    (table,) = result.parts
    assert codes(result) == ["cut_columns"]
    assert table.problems.all()[0].message.endswith(f": {missing}")
    whole = nccl_tests.read(head + row(1048576) + row(2097152) + footer()).parts[0]
    assert [each.out_of_place for each in table.rows] == [each.out_of_place for each in whole.rows]
    inside = [each.in_place and each.in_place.busbw for each in table.rows]
    assert inside == ([each.in_place and each.in_place.busbw for each in whole.rows] if lost == 1 else [None, None])
    assert (table.finished, table.largest and table.largest.size) == (True, 2097152)


def test_a_test_that_began_and_measured_nothing_is_told_as_one() -> None:
    begun = "# nThread 1 nGpus 2 minBytes 8 maxBytes 8\n# Using devices\n"
    for behind, why in (
        ("", "still running"),
        ("gpu01:4:5 [0] NCCL WARN Call to bind failed\n", "bind failed"),
    ):
        (problem,) = nccl_tests.read(begun + behind).problems
        assert (problem.code, why in problem.message) == ("no_result", True)


def test_a_table_that_lost_its_number_signs_has_its_last_lines() -> None:
    (table,) = nccl_tests.read((HEAD + COLUMNS + row(2097152) + footer(bounds="2 FAILED")).replace("#", "")).parts
    assert (table.out_of_bounds, table.average_busbw, len(table.rows)) == (2, 12.0, 1)
