"""What every kind of switch shares: the request, the guards, the policy of saving, the judgement."""
