"""DBOS workflows as A2A agents."""
