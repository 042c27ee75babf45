"""What a SONiC switch answers, as in doc/Command-Reference.md of sonic-net/sonic-utilities; values are ours."""

from __future__ import annotations

import json
from typing import Any

CONFIG: dict[str, Any] = {
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf01", "hwsku": "ACS-MSN2700"}},
    "PORT": {
        "Ethernet0": {"admin_status": "up", "alias": "etp1", "lanes": "0,1,2,3", "mtu": "9216", "speed": "100000"},
        "Ethernet4": {"admin_status": "up", "alias": "etp2", "lanes": "4,5,6,7", "mtu": "9216", "speed": "100000"},
        "Ethernet8": {"alias": "etp3", "lanes": "8,9,10,11", "mtu": "9100", "speed": "100000"},
    },
    "PORT_QOS_MAP": {
        "global": {"dscp_to_tc_map": "AZURE"},
        "Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3", "pfcwd_sw_enable": "3"},
        "Ethernet4": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]", "pfc_enable": "3"},
    },
    "DSCP_TO_TC_MAP": {"AZURE": {"0": "0", "26": "3", "48": "6"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "3": "3", "6": "6"}},
    "QUEUE": {
        "Ethernet0|3": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
        "Ethernet4,Ethernet8|3-4": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"},
        "Ethernet0|0": {"scheduler": "scheduler.0"},
    },
    "WRED_PROFILE": {
        "AZURE_LOSSLESS": {
            "ecn": "ecn_all",
            "wred_green_enable": "true",
            "green_min_threshold": "150000",
            "green_max_threshold": "1500000",
        }
    },
    "VLAN_MEMBER": {
        "Vlan111|Ethernet0": {"tagging_mode": "untagged"},
        "Vlan111|Ethernet4": {"tagging_mode": "untagged"},
    },
}
VERSION = """
SONiC Software Version: SONiC.202311.5-a1b2c3d4e
SONiC OS Version: 11
Distribution: Debian 11.9
Kernel: 5.10.0-23-2-amd64
"""
INTERFACES = """\
    IFACE    STATE            RX_OK       RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR            TX_OK       TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR
---------  -------  ---------------  -----------  ---------  --------  --------  --------  ---------------  -----------  ---------  --------  --------  --------
Ethernet0        U  471,729,839,997  653.87 MB/s     12.77%         0    18,682         0  409,682,385,925  556.84 MB/s     10.88%         0         0         0
Ethernet4        U               12    0.00 B/s       0.00%         0         0         0               12    0.00 B/s       0.00%         0         7         0
Ethernet8        X                0    0.00 B/s       0.00%         0         0         0                0    0.00 B/s       0.00%         0       N/A         0
"""  # noqa: E501
PFC = """\
  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   1,403       0       0       0       0
Ethernet4       0       0       0       0       0       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0      17       0       0       0       0
Ethernet4       0       0       0     N/A       0       0       0       0
"""
QUEUES = """\
For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC0              41            4,096            0             0
Ethernet0    UC3       9,811,004   40,185,872,384            0             0
Ethernet0    MC3               8              512            0             0
Ethernet0  ALL20             N/A              N/A          N/A           N/A

     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet4    UC3               5              640            0             0
"""
MARKS = """\
     Port    TxQ    WredDrp/pkts    WredDrp/bytes    EcnMarked/pkts    EcnMarked/bytes
---------  -----  --------------  ---------------  ----------------  -----------------
Ethernet0    UC3               0                0                89                 48
Ethernet4    UC3             N/A              N/A               N/A                N/A
"""
LLDP = """\
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice       RemotePortID         Capability    RemotePortDescr
-----------  -----------------  -------------------  ------------  --------------------
Ethernet0    gpu01              9c:63:c0:00:00:01                  ens1f0np0
Ethernet4    spine02            Ethernet12           BR            to leaf01
--------------------------------------------------
Total entries displayed:  2
"""
ANSWERS = {
    "show version": VERSION,
    "show runningconfiguration all": json.dumps({**CONFIG, "bgpraw": "frr version 8.5\n!"}, indent=4),
    "cat /etc/sonic/config_db.json": json.dumps(CONFIG),
    "show interfaces counters": INTERFACES,
    "show pfc counters": PFC,
    "show queue counters": QUEUES,
    "show queue wredcounters": MARKS,
    "show lldp table": LLDP,
}
