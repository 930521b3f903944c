import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base.ts'

export default defineConfig(
  libraryBuild({
    index: 'src/index.ts',
    events: 'src/events/index.ts',
    worker: 'src/worker.ts',
    'thread-watch': 'src/vector/threads/thread-watch.ts',
    'node-version': 'src/node-version.ts',
    reader: 'src/reader.ts',
    replicated: 'src/replicated.ts',
    testing: 'src/testing/index.ts',
  }),
)
