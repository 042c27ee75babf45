"""The switch layer for Cumulus Linux: 5.x, through NVUE's REST API."""
