"""Every engine keeps the same promises."""
