import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base.ts'

export default defineConfig(
  libraryBuild({
    index: 'src/index.ts',
    http: 'src/http/index.ts',
    judging: 'src/judging/index.ts',
    embedded: 'src/embedded/index.ts',
  }),
)
