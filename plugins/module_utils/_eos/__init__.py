"""An Arista EOS switch, read only: ``show ... | json`` and its running configuration. Not verified on hardware."""
