import { defineConfig } from 'vitest/config'

// Programs of the documents start whole frameworks, and two files write the same document when asked to.
export default defineConfig({ test: { include: ['test/*.test.mjs'], testTimeout: 120_000, hookTimeout: 600_000, fileParallelism: false } })
