import { copyFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base.ts'
import { vendorDefines } from './vendor-key.ts'

/** TypeBox is part of the build, because a start would load its 250 modules one by one. Its license goes with it. */
async function copyTypeBoxLicense(): Promise<void> {
  const license = new URL('../../license', import.meta.resolve('@sinclair/typebox'))
  await copyFile(license, fileURLToPath(new URL('dist/typebox.LICENSE', import.meta.url)))
}

export default defineConfig({
  ...libraryBuild({
    index: 'src/index.ts',
    bucket: 'src/backups/bucket.ts',
    archive: 'src/archive/restore-archive.ts',
    cluster: 'src/cluster/directories.ts',
    main: 'src/main.ts',
    'serving-thread': 'src/serving/thread.ts',
  }),
  define: vendorDefines(process.env),
  onSuccess: copyTypeBoxLicense,
})
