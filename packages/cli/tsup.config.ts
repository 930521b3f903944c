import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base.ts'

export default defineConfig({
  ...libraryBuild({ annal: 'src/annal.ts', 'reader-thread': 'src/sources/reader-thread.ts' }),
  dts: false,
})
