"""Clients, which randomize on a device, and the estimators that go with them."""
