"""Remote A2A agents in workflows of DBOS."""
