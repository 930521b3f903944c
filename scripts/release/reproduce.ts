// `npm run reproduce -- [--images] [COMMIT]`: builds the packages of a commit twice, in folders of other lengths, with another umask and another
// time zone, and compares the bytes of each npm tarball, the wheel, and the source distribution; with `--images` those of each layer of the
// images, too. Prints a line for each file and exits with 1 if one differs.
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildPackages, checkOut } from './build-packages.ts'
import { differences, digestsOf } from './checksums.ts'
import { buildImages, missingForImages } from './images.ts'
import { runStep } from './run-step.ts'
import { versionOf } from './version.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Places that share nothing that must not be in an artifact. */
const places = [
  { folder: 'a', umask: 0o022, env: { TZ: 'UTC', LC_ALL: 'C' } },
  { folder: 'another folder/with a longer name', umask: 0o027, env: { TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' } },
]

/** Resolves to a sentence for each difference. */
export async function compareTwoBuilds(
  commit: string,
  options: { readonly images: boolean; readonly dockerOptions: readonly string[] },
): Promise<string[]> {
  const top = await mkdtemp(path.join(os.tmpdir(), 'annal-reproduce-'))
  try {
    const outs: string[] = []
    for (const { folder, umask, env } of places) {
      const dir = path.join(top, folder)
      const out = path.join(top, `out-${outs.length}`)
      const checkout = await checkOut(root, commit, dir)
      await buildPackages(checkout, out, { umask, env })
      const dockerOptions = ['--no-cache', ...options.dockerOptions]
      if (options.images) await buildImages(checkout, versionOf(dir), out, dockerOptions)
      outs.push(out)
      await rm(dir, { recursive: true })
    }
    const [first = '', second = ''] = outs
    for (const [name, digest] of await digestsOf(first)) console.log(`${digest}  ${name}`)
    return await differences(first, second)
  } finally {
    await rm(top, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: {
      images: { type: 'boolean', default: false },
      'docker-option': { type: 'string', multiple: true, default: [] },
    },
    allowPositionals: true,
  })
  const missing = values.images ? await missingForImages() : undefined
  if (missing !== undefined) throw new Error(missing)
  const commit = (await runStep('git', ['rev-parse', positionals[0] ?? 'HEAD'], { cwd: root })).trim()
  console.log(`two builds of ${commit}`)
  const found = await compareTwoBuilds(commit, { images: values.images, dockerOptions: values['docker-option'] })
  for (const difference of found) console.error(difference)
  console.log(found.length === 0 ? 'both builds have the same bytes' : `${found.length} differences`)
  process.exitCode = found.length === 0 ? 0 : 1
}
