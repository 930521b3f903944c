import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base.ts'

export default defineConfig(
  libraryBuild({
    index: 'src/index.ts',
    replicated: 'src/replicated/index.ts',
    testing: 'src/testing/index.ts',
    'annal-wal': 'src/annal-wal.ts',
  }),
)
