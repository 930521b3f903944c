import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base.ts'
import { vendorDefines } from './vendor-key.ts'

export default defineConfig({
  ...libraryBuild({
    index: 'src/index.ts',
    bucket: 'src/backups/bucket.ts',
    main: 'src/main.ts',
    'serving-thread': 'src/serving/thread.ts',
  }),
  define: vendorDefines(process.env),
})
