import { defineConfig } from 'vitest/config'

// An agent takes seconds to start, and downloads what its plugins need when it does so for the first time.
export default defineConfig({ test: { include: ['test/agents/*.test.mjs'], testTimeout: 300_000 } })
