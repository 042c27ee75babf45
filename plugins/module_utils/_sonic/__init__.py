"""A SONiC switch, read only: its CONFIG_DB and what its commands print. Not verified on hardware."""
