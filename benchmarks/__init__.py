"""Speed and quality, measured side by side with other ways to the same result."""
