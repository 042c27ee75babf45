"""Outputs of jobs and devices in which all is well, with the harmless lines that real programs print around them: "
"(name,
text). Hosts, addresses and figures are made up; the forms are those of the programs."""

from __future__ import annotations

COLUMNS = "time   algbw   busbw #wrong"
TABLE = (
    f"#       size         count      type   redop    root     {COLUMNS}     {COLUMNS}\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "     1048576        262144     float     sum      -1    104.1   10.07   18.88      0    103.9   10.09   18.92   "
    "   0\n"
    "    33554432       8388608     float     sum      -1    702.4   47.77   89.57      0    701.1   47.86   89.74   "
    "   0\n"
    "   268435456      67108864     float     sum      -1   2902.2   92.49  173.42      0   2899.8   92.57  173.57   "
    "   0\n"
    "  1073741824     268435456     float     sum      -1  10950.1   98.06  183.86      0  10944.7   98.11  183.95   "
    "   0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 119.115\n"
    "#\n"
)
HEAD = (
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 32(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n#\n# Using devices\n"
)
DEVICES = "".join(
    f"#  Rank {rank:2d} Group  0 Pid  {71000 + rank} on    node{rank // 8 + 1} device  {rank % 8} "
    f"[0x{27 + rank % 8:02x}] "
    "NVIDIA H100 80GB HBM3\n"
    for rank in range(16)
)


def osu(title: str, heading: str, rows: tuple[tuple[int, float], ...], version: str = "7.3") -> str:
    return f"\n# OSU MPI{title} Test v{version}\n# {heading}\n" + "".join(f"{s:<10d}{v:18.2f}\n" for s, v in rows)


SIZES = tuple(1 << power for power in range(23))
LATENCY = osu(" Latency", "Size          Latency (us)", tuple((size, 1.9 + size / 11_000) for size in SIZES))
BANDWIDTH = osu(
    "-CUDA Bandwidth", "Size      Bandwidth (MB/s)", tuple((n, min(24_000.0, n * 2.2)) for n in SIZES), "5.9"
)
HVD = (
    "Model: resnet50\nBatch size: 64\nNumber of GPUs: 16\nRunning warmup...\nRunning benchmark...\n"
    "Iter #0: 812.4 img/sec per GPU\nIter #1: 813.0 img/sec per GPU\nIter #2: 812.1 img/sec per GPU\n"
    "Img/sec per GPU: 812.5 +-0.9\nTotal img/sec on 16 GPU(s): 13000.0 +-14.4\n"
)
TF_CNN = (
    "TensorFlow:  1.15\nModel:       resnet50\nDataset:     imagenet (synthetic)\nMode:        training\n"
    "SingleSess:  False\n"
    "Batch size:  512 global\n             64 per device\nNum batches: 100\nDevices:     ['horovod/gpu:0']\n"
    "NUMA bind:   False\n"
    "Data format: NCHW\nOptimizer:   sgd\nVariables:   horovod\n==========\nGenerating training model\n"
    "Initializing graph\nRunning warm up\nDone warm up\nStep\tImg/sec\ttotal_loss\n"
    "1\timages/sec: 780.1 +/- 0.0 (jitter = 0.0)\t7.608\n50\timages/sec: 783.2 +/- 0.4 (jitter = 1.9)\t7.411\n"
    "100\timages/sec: 783.0 +/- 0.3 (jitter = 1.8)\t7.306\n"
    "----------------------------------------------------------------\ntotal images/sec: 6264.00\n"
    "----------------------------------------------------------------\n"
)
STEPS = "".join(f"step {n}/50 loss: {7 - n / 20:.4f} lr: 3.0e-04 {812 + n % 3} samples/s\n" for n in range(5, 51, 5))
BW = (
    "---------------------------------------------------------------------------------------\n"
    "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : 1\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
    " PCIe relax order: ON\n ibv_wr* API     : ON\n TX depth        : 128\n CQ Moderation   : 1\n"
    " Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : 3\n Max inline data : 0[B]\n"
    " rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n"
    "---------------------------------------------------------------------------------------\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             196.11             196.08               0.373992\n"
    "---------------------------------------------------------------------------------------\n"
)

JOBS: tuple[tuple[str, str], ...] = (
    (
        "nccl-tests below mpirun with notes of Open MPI",
        "Warning: Permanently added 'node2,192.0.2.12' (ED25519) to the list of known hosts.\n"
        "--------------------------------------------------------------------------\n"
        "WARNING: No preset parameters were found for the device that Open MPI detected:\n\n  Local host: node1\n"
        "  Device name: mlx5_0\n  Device vendor ID: 0x02c9\n\nDefault device parameters will be used, which may\n"
        "result in lower performance.\n\nNOTE: You can turn off this warning by setting the MCA parameter\n"
        "      btl_openib_warn_no_device_params_found to 0.\n"
        "--------------------------------------------------------------------------\n"
        "[node1:71000] 15 more processes have sent help message help-mpi-btl-openib.txt / no device params found\n"
        '[node1:71000] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n'
        + HEAD
        + DEVICES
        + TABLE,
    ),
    (
        "nccl-tests of one host whose NICs have no GPUDirect",
        HEAD
        + DEVICES[: DEVICES.index("#  Rank  8")].replace("H100 80GB HBM3", "A40")
        + "node1:71000:71010 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:192.0.2.11<0>\n"
        "node1:71000:71010 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
        "node1:71000:71010 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
        "node1:71000:71010 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 0\n" + TABLE,
    ),
    (
        "nccl-tests with a topology file that the site gives",
        HEAD + DEVICES + "node1:71000:71010 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /opt/site/topo.xml\n"
        "node1:71000:71010 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA\n" + TABLE,
    ),
    (
        "nccl-tests in a pod, with the notes of its entrypoint",
        'Defaulted container "mpi-launcher" out of: mpi-launcher, kubectl-delivery (init)\n'
        "+ POD_NAME=nccl-worker-0\n+ shift\n"
        "Warning: Permanently added 'nccl-worker-0.nccl-worker,192.0.2.20' (ECDSA) to the list of known hosts.\n"
        "WARNING: local probe returned unhandled shell:unknown assuming bash\n"
        "[1736854001.112] [node1:71000:0] parser.c:2046 UCX  WARN  unused environment variables: UCX_HOME; UCX_DIR "
        "(maybe: UCX_TLS?)\n" + HEAD + DEVICES + TABLE,
    ),
    (
        "nccl-tests in a quoted page without its comment signs",
        (HEAD + DEVICES + TABLE).replace("# ", " ").replace("#\n", "\n").replace("#wrong", "wrong"),
    ),
    ("OSU latency", LATENCY),
    ("OSU bandwidth of GPUs below srun", "srun: job 4711 queued and waiting for resources\n" + BANDWIDTH),
    (
        "OSU all-reduce with notes of its launcher",
        "[node1:812] mca: base: component_find: unable to open mca_mtl_psm2: libpsm2.so.2: cannot open shared object "
        "file: No such file or directory (ignored)\n"
        "Warning: OMB could not identify the local rank of the process.\n"
        "         This can lead to multiple processes using the same GPU.\n"
        + osu(
            " Allreduce Latency", "Size       Avg Latency(us)", tuple((size, 30.0 + size / 500) for size in SIZES[2:21])
        ),
    ),
    (
        "OSU all-to-all with four columns",
        "# OSU MPI All-to-All Personalized Exchange Latency Test v5.6.2\n"
        "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
        + "".join(
            f"{n:<10d}{20 + n / 90:18.2f}{19 + n / 90:18.2f}{21 + n / 90:18.2f}        1000\n" for n in SIZES[:21]
        ),
    ),
    (
        "OSU barrier",
        "# OSU MPI Barrier Latency Test v7.2\n# Avg Latency(us)\n             12.31\n",
    ),
    (
        "OSU message rates",
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 4 ] [ window size: 64 ]\n"
        "# Size                  MB/s        Messages/s\n"
        + "".join(f"{n:<10d}{min(48_000.0, n * 9.1):18.2f}{min(48e9, n * 9.1e6) / n:18.2f}\n" for n in SIZES),
    ),
    ("perftest", BW),
    (
        "perftest with the notes of its start",
        "************************************\n* Waiting for client to connect... *\n"
        "************************************\n"
        "WARNING: BW peak won't be measured in this run.\n"
        "Conflicting CPU frequency values detected: 2400.000000 != 3300.000000. CPU Frequency is not max.\n" + BW,
    ),
    (
        "perftest over GPUs",
        "Perftest doesn't supports CUDA tests with inline messages: inline size set to 0\n"
        "initializing CUDA\nListing all CUDA devices in system:\nCUDA device 0: PCIe address is 1B:00\n\n"
        "Picking device No. 0\n[pid = 8112, dev = 0] device name = [NVIDIA H100 80GB HBM3]\ncreating CUDA Ctx\n"
        "making it the current CUDA Ctx\ncuMemAlloc() of a 131072 bytes GPU buffer\n"
        "allocated GPU buffer address at 00007f1234000000 pointer=0x7f1234000000\n" + BW + "deallocating RX GPU buffer "
        "00007f1234000000\ndestroying current CUDA Ctx\n",
    ),
    (
        "torchrun with its usual notes",
        "W0114 10:00:01.123000 140 torch/distributed/run.py:793] \n"
        "W0114 10:00:01.123000 140 torch/distributed/run.py:793] *****************************************\n"
        "W0114 10:00:01.123000 140 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each "
        "process to be 1 in default, to avoid your system being overloaded, please further tune the variable for "
        "optimal "
        "performance in your application as needed. \n"
        "/opt/venv/lib/python3.11/site-packages/torch/optim/lr_scheduler.py:232: UserWarning: The epoch parameter in "
        "`scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` to "
        "step the scheduler.\n  warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning)\n" + STEPS + "Training complete\n"
        "[rank0]:[W114 10:05:00.1 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed "
        "before "
        "we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group to "
        "ensure "
        "that any pending NCCL operations have finished in this process.\n",
    ),
    (
        "a training that writes to a service of its site",
        "wandb: WARNING `resume` will be ignored since W&B syncing is set to `offline`. Starting a new run with run "
        "id x1\n"
        "Failed to fetch the list of datasets from the hub, using the cached one instead.\n"
        "Repo card metadata block was not found. Setting CardData to empty.\n"
        "Could not estimate the number of tokens of the input, floating-point operations will not be computed\n"
        + STEPS
        + "Training complete\n",
    ),
    (
        "Hugging Face trainer",
        "Detected kernel version 5.4.0, which is below the recommended minimum of 5.5.0; this can cause the process "
        "to hang. "
        "It is recommended to upgrade the kernel to the minimum version or higher.\n"
        "You are attempting to use Flash Attention 2.0 without specifying a torch dtype. This might lead to unexpected "
        "behaviour\n"
        "Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or "
        "trained.\n"
        + "".join(
            f"{{'loss': {2.1 - n / 50:.4f}, 'grad_norm': {'inf' if n == 1 else 1.21}, 'learning_rate': 2e-05, "
            f"'epoch': {n / 10}}}\n"
            for n in range(1, 11)
        )
        + "{'train_runtime': 812.4, 'train_samples_per_second': 98.1, 'train_loss': 1.98, 'epoch': 1.0}\n",
    ),
    (
        "DeepSpeed",
        "[2025-01-14 10:00:00,100] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator to cuda "
        "(auto "
        "detect)\n"
        "[2025-01-14 10:00:00,200] [WARNING] [runner.py:215:fetch_hostfile] Unable to find hostfile, will proceed with "
        "training with local resources only.\n"
        " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.\n"
        " [WARNING]  Please specify the CUTLASS repo directory as environment variable $CUTLASS_PATH\n"
        " [WARNING]  sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.4\n"
        "[2025-01-14 10:00:05,000] [INFO] [launch.py:152:main] nnodes=1, num_local_procs=2, node_rank=0\n"
        "[2025-01-14 10:00:06,000] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping "
        "step. "
        "Attempted loss scale: 65536, reducing to 32768\n"
        + "".join(
            f"[2025-01-14 10:01:{n:02d},000] [INFO] [logging.py:96:log_dist] [Rank 0] step={n * 10}, skipped=1, "
            "lr=[0.0003], mom=[[0.9, 0.95]]\n"
            for n in range(1, 6)
        )
        + "".join(
            f"[2025-01-14 10:02:00,000] [INFO] [launch.py:347:main] Process {pid} exits successfully.\n"
            for pid in (812, 813)
        ),
    ),
    (
        "Megatron",
        "/workspace/megatron/arguments.py:280: UserWarning: Disabling sequence parallelism because tensor model "
        "parallelism "
        "is disabled\n> initialized tensor model parallel with size 1\n"
        " > WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt\n"
        "    will not load any checkpoints and will start from random\n"
        + "".join(
            f" iteration {n:8d}/      50 | consumed samples: {n * 64} | elapsed time per iteration (ms): 912.{n} | "
            f"learning "
            f"rate: 1.5E-05 | lm loss: {9 - n / 20:.6E} | loss scale: 1.0 | grad norm: 1.512 | number of skipped "
            "iterations:   0 | number of nan iterations:   0 |\n"
            for n in range(10, 51, 10)
        )
        + "[after training is done] datetime: 2025-01-14 10:20:00\n",
    ),
    (
        "Horovod and PyTorch",
        "[1,0]<stderr>:/usr/lib/python3/torchvision/models/_utils.py:223: UserWarning: Arguments other than a weight "
        "enum "
        "or `None` for 'weights' are deprecated since 0.13\n" + HVD,
    ),
    (
        "Horovod and TensorFlow",
        "2025-01-14 10:00:00.1: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register "
        "cuDNN "
        "factory: Attempting to register factory for plugin cuDNN when one has already been registered\n"
        "2025-01-14 10:00:00.2: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find "
        "TensorRT\n"
        "2025-01-14 10:00:01.0: W tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.cc:47] Overriding "
        "orig_value setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set. Original config value "
        "was 0.\n" + HVD,
    ),
    (
        "tf_cnn_benchmarks",
        "WARNING:tensorflow:Deprecation warnings have been disabled. Set TF_ENABLE_DEPRECATION_WARNINGS=1 to "
        "re-enable them.\n"
        "2025-01-14 10:00:00.1: W tensorflow/stream_executor/platform/default/dso_loader.cc:59] Could not load dynamic "
        "library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file: No such file or "
        "directory\n"
        "W0114 10:00:02.0 140 module_wrapper.py:139] From benchmark_cnn.py:1700: The name tf.global_variables is "
        "deprecated. "
        "Please use tf.compat.v1.global_variables instead.\n"
        "2025-01-14 10:00:03.0: E tensorflow/stream_executor/cuda/cuda_driver.cc:318] failed call to "
        "cuGetDriverVersion of the compiler: UNKNOWN (0)\n" + TF_CNN,
    ),
    (
        "MXNet",
        "[10:00:00] src/operator/nn/./cudnn/./cudnn_algoreg-inl.h:97: Running performance tests to find the best "
        "convolution "
        "algorithm, this can take a while... (set the environment variable MXNET_CUDNN_AUTOTUNE_DEFAULT to 0 to "
        "disable)\n"
        "WARNING:root:Optimizer created manually outside Module but rescale_grad is not normalized to 1.0/batch_size\n"
        + "".join(
            f"INFO:root:Epoch[0] Batch [{n}]\tSpeed: 9{n}1.20 samples/sec\taccuracy={n / 1000:.6f}\n"
            for n in range(20, 120, 20)
        )
        + "[Epoch 0] validation: err-top1=0.908084 err-top5=0.771923\n[Epoch 0] time cost: 61.05\nTraining complete\n",
    ),
    (
        "Slurm job with prolog and epilog",
        "srun: job 4711 queued and waiting for resources\nsrun: job 4711 has been allocated resources\n"
        "slurmstepd: info: Setting TMPDIR to /tmp/4711\n"
        "/etc/profile.d/lang.sh: line 19: warning: setlocale: LC_CTYPE: cannot change locale (C.UTF-8): No such file "
        "or "
        "directory\n"
        'Lmod is automatically replacing "gcc/12.2" with "nvhpc/24.5".\n'
        "pyxis: imported docker image: nvcr.io#nvidia/pytorch:24.05-py3\n" + STEPS + "Training complete\n"
        "JobID           JobName      State ExitCode\n4711              train  COMPLETED      0:0\n",
    ),
    (
        "a training whose start tries several ways",
        "bash: module: command not found\n/opt/run.sh: line 12: nvidia-cuda-mps-control: command not found\n"
        "rm: cannot remove '/tmp/core.*': No such file or directory\n"
        "ls: cannot access '/dev/nvidia-caps': No such file or directory\n" + STEPS + "Training complete\n",
    ),
    (
        "HPL of NVIDIA",
        "WARNING: Open MPI tried to bind a process but failed.  This is a warning only; your job will continue, though "
        "performance may be degraded.\n"
        "================================================================================\n"
        "HPL-NVIDIA 24.03.0  -- NVIDIA accelerated HPL benchmark -- NVIDIA\n"
        "================================================================================\n"
        "T/V                N    NB     P     Q         Time          Gflops (   per GPU)\n"
        "--------------------------------------------------------------------------------\n"
        "WC0           263168  1024     4     2        32.40       3.750e+05 ( 4.688e+04)\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=    0.0003211 ...... PASSED\n"
        "================================================================================\n"
        "Finished      1 tests with the following results:\n"
        "              1 tests completed and passed residual checks,\n"
        "              0 tests completed and failed residual checks,\n"
        "              0 tests skipped because of illegal input values.\n"
        "--------------------------------------------------------------------------------\nEnd of Tests.\n",
    ),
    (
        "nvidia-smi of busy GPUs",
        "Tue Jan 14 10:00:00 2025\n"
        "+-----------------------------------------------------------------------------------------+\n"
        "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        "|=========================================+========================+======================|\n"
        "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |\n"
        "| N/A   61C    P0            641W /  700W |   71210MiB /  81559MiB |    100%      Default |\n"
        "|                                         |                        |             Disabled |\n"
        "+-----------------------------------------+------------------------+----------------------+\n"
        "| Processes:                                                                              |\n"
        "|    0   N/A  N/A      4711      C   /usr/bin/python3                             71202MiB |\n"
        "+-----------------------------------------------------------------------------------------+\n",
    ),
    (
        "nvidia-smi -q -d ECC,PAGE_RETIREMENT,PERFORMANCE",
        "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\nGPU 00000000:1B:00.0\n"
        "    ECC Mode\n        Current                           : Enabled\n"
        "        Pending                           : Enabled\n"
        "    ECC Errors\n        Volatile\n            SRAM Correctable              : 0\n"
        "            SRAM Uncorrectable Parity     : 0\n            DRAM Correctable              : 0\n"
        "            DRAM Uncorrectable            : 0\n    Retired Pages\n"
        "        Single Bit ECC                    : N/A\n        Pending Page Blacklist            : N/A\n"
        "    Performance State                     : P0\n    Clocks Event Reasons\n"
        "        Idle                              : Not Active\n"
        "        Applications Clocks Setting       : Not Active\n"
        "        SW Power Cap                      : Active\n        HW Slowdown                       : Not Active\n"
        "            HW Thermal Slowdown           : Not Active\n",
    ),
    (
        "ibstat",
        "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.2048\n\tHardware version: 0\n"
        "\tNode GUID: 0x0000000000000011\n\tSystem image GUID: 0x0000000000000011\n\tPort 1:\n\t\tState: Active\n"
        "\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: 12\n\t\tLMC: 0\n\t\tSM lid: 1\n"
        "\t\tCapability mask: 0xa651e848\n\t\tPort GUID: 0x0000000000000011\n\t\tLink layer: InfiniBand\n",
    ),
    (
        "perfquery",
        "# Port counters: Lid 12 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
        "CounterSelect:...................0x0000\nSymbolErrorCounter:..............0\n"
        "LinkErrorRecoveryCounter:........0\n"
        "LinkDownedCounter:...............0\nPortRcvErrors:...................0\nPortXmitDiscards:................0\n"
        "PortXmitData:....................4294967295\nPortRcvData:.....................4294967295\n"
        "PortXmitWait:....................8123\n",
    ),
    (
        "ethtool",
        "Settings for ens1f0np0:\n\tSupported ports: [ Backplane ]\n\tSupported link modes:   100000baseCR4/Full\n"
        "\t                        200000baseCR4/Full\n\tSupported pause frame use: Symmetric\n"
        "\tSupports auto-negotiation: Yes\n\tSupported FEC modes: None\t RS\n\tAdvertised pause frame use: Symmetric\n"
        "\tAdvertised auto-negotiation: Yes\n\tLink partner advertised pause frame use: No\n\tSpeed: 200000Mb/s\n"
        "\tLanes: 4\n"
        "\tDuplex: Full\n\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n\tPHYAD: 0\n\tTransceiver: internal\n"
        "netlink error: Operation not permitted\n\tCurrent message level: 0x00000004 (4)\n"
        "\t                       link\n"
        "\tLink detected: yes\n",
    ),
    (
        "ethtool -S",
        "NIC statistics:\n     rx_packets: 812345678\n     rx_out_of_buffer: 0\n     tx_queue_stopped: 12\n"
        "     tx_queue_dropped: 0\n"
        "     rx_wqe_err: 0\n     rx_discards_phy: 0\n     rx_symbol_err_phy: 0\n     link_down_events_phy: 1\n"
        "     rx_pcs_symbol_err_phy: 0\n     rx_corrected_bits_phy: 0\n     tx_errors_phy: 0\n"
        "     rx_prio3_discards: 0\n"
        "     rx_prio3_pause: 0\n     rx_steer_missed_packets: 3\n     ch_eq_rearm: 0\n",
    ),
    (
        "dmesg of a machine with a NIC whose second port has no cable",
        "[    0.000000] Linux version 5.15.0-122-generic (buildd@host) (gcc 11.4.0)\n"
        "[    0.000000] ACPI: SSDT 0x0000000000000000 000123 (v02 AMD    CPU 00000001)\n"
        "[    0.105110] Spectre V2 : Mitigation: Enhanced / Automatic IBRS\n"
        "[    1.204411] pci 0000:c0:00.2: AMD-Vi: Unable to read/write to IOMMU perf counter.\n"
        "[    3.101112] mlx5_core 0000:41:00.0: firmware version: 22.39.1002\n"
        "[    3.401112] mlx5_core 0000:41:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)\n"
        "[    4.101112] mlx5_core 0000:41:00.0: Port module event: module 0, Cable plugged\n"
        "[    4.501112] mlx5_core 0000:41:00.1: Port module event: module 1, Cable unplugged\n"
        "[    5.001112] mlx5_core 0000:41:00.0 ens1f0np0: Link up\n"
        "[    6.001112] hid-generic 0003:046B:FF10.0001: input,hidraw0: USB HID v1.10 Mouse [Virtual Mouse] on "
        "usb-0000:c3\n"
        "[    9.001112] nvidia: loading out-of-tree module taints kernel.\n"
        "[    9.101112] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15\n"
        "[   14.00111] systemd-journald[812]: File /var/log/journal/x/system.journal corrupted or uncleanly shut down, "
        "renaming and replacing.\n",
    ),
    (
        "show interface of a port without traffic",
        "Ethernet1/1 is up\nadmin state is up, Dedicated Interface\n"
        "  Hardware: 100/400 Ethernet, address: 0000.5e00.5301\n"
        "  MTU 9216 bytes, BW 400000000 Kbit , DLY 10 usec\n  reliability 255/255, txload 1/255, rxload 1/255\n"
        "  full-duplex, 400 Gb/s, media type is 400G\n  Beacon is turned off\n"
        "  Auto-Negotiation is turned on  FEC mode is Auto\n"
        '  Last link flapped 3week(s) 2day(s)\n  Last clearing of "show interface" counters never\n'
        "  2 interface resets\n"
        "  RX\n    0 runts  0 giants  0 CRC  0 no buffer\n"
        "    0 input error  0 short frame  0 overrun   0 underrun  0 ignored\n"
        "    0 watchdog  0 bad etype drop  0 bad proto drop  0 if down drop\n"
        "    0 input with dribble  0 input discard\n"
        "  TX\n    0 output error  0 collision  0 deferred  0 late collision\n"
        "    0 lost carrier  0 no carrier  0 babble  0 output discard\n    0 Tx pause\n",
    ),
    (
        "show interfaces of EOS",
        "Ethernet1/1 is up, line protocol is up (connected)\n  Hardware is Ethernet, address is 0000.5e00.5302\n"
        "  Description: gpu01\n  Ethernet MTU 9214 bytes , BW 100000000 kbit\n"
        "  Full-duplex, 100Gb/s, auto negotiation: off\n"
        "  Up 41 days, 3 hours\n  Loopback Mode : None\n  2 link status changes since last clear\n"
        '  Last clearing of "show interface" counters never\n'
        "  5 minutes input rate 0 bps (0.0% with framing overhead)\n"
        "     0 runts, 0 giants\n     0 input errors, 0 CRC, 0 alignment, 0 symbol, 0 input discards\n"
        "     0 output errors, 0 collisions\n     0 late collision, 0 deferred, 0 output discards\n",
    ),
    (
        "show counters of PFC",
        "Port    Pri0  Pri1  Pri2  Pri3\nEt1/1      0     0     0     0\nEt1/2      0     0     0     0\n"
        "PFC watchdog: no storm detected\n",
    ),
    (
        "nv show interface",
        "Interface  MTU    Speed  State  Remote Host  Remote Port  Type  Summary\n"
        "---------  -----  -----  -----  -----------  -----------  ----  -------\n"
        "eth0       1500   1G     up     mgmt         swp4         eth   IP Address: 192.0.2.5/24\n"
        "lo         65536         up                               loopback\n"
        "swp1       9216   200G   up     gpu01        ens1f0np0    swp\n"
        "swp2       9216   200G   up     gpu02        ens1f0np0    swp\n",
    ),
    (
        "show interfaces ethernet of Onyx",
        "Eth1/1:\n  Admin state                      : Enabled\n  Operational state                : Up\n"
        "  Last change in operational status: 5d and 02:11:00 ago (3 oper change)\n"
        "  Boot delay time                  : 0 sec\n"
        "  Description                      : N/A\n  Mac address                      : 00:00:5e:00:53:03\n"
        "  MTU                              : 9216 bytes (Maximum packet size 9238 bytes)\n"
        "  Fec                              : auto\n"
        "  Flow-control                     : receive off send off\n  Actual speed                     : 100G (auto)\n"
        "  Rx:\n    0                    error packets\n    0                    discard packets\n"
        "  Tx:\n    0                    error packets\n    0                    discard packets\n"
        "    0                    hoq discard packets\n",
    ),
    (
        "mlxconfig",
        "root@gpu01:~# mlxconfig -d 0000:41:00.0 query\n\nDevice #1:\n----------\n\nDevice type:        ConnectX6\n"
        "Name:               MCX653106A-ECA_Ax\nDescription:        ConnectX-6 VPI adapter card; 100Gb/s; dual-port "
        "QSFP56\n"
        "Device:             0000:41:00.0\n\nConfigurations:                              Next Boot\n"
        "        MEMIC_BAR_SIZE                      0\n        NUM_OF_VFS                          0\n"
        "        SRIOV_EN                            False(0)\n        LINK_TYPE_P1                        ETH(2)\n"
        "        LINK_TYPE_P2                        ETH(2)\n        EXP_ROM_PXE_ENABLE                  True(1)\n",
    ),
    (
        "another benchmark and its settings",
        "MASTER_ADDR=node1\nMASTER_PORT=29500\nWORLD_SIZE=16\nNUM_NODES=2\nNUM_GPUS_PER_NODE=8\n"
        "size(MB): 1024 tput_avg(Gbps): 1499.1 busbw_avg(Gbps): 1495.6\n",
    ),
)
