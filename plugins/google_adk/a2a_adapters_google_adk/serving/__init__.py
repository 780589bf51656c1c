"""Agents of ADK as A2A agents."""
