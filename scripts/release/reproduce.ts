// `npm run reproduce -- [--images] [COMMIT]`: builds the packages of a commit twice, in folders of other lengths, with another umask and another
// time zone, and compares the bytes of each npm tarball, the wheel, and the source distribution; with `--images` those of each layer of the
// images, too. Prints a line for each file. If one differs, it says what in it differs, keeps both builds, and exits with 1.
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

/** Resolves to a sentence for each difference, and for the folder with both builds if there is one. */
export async function compareTwoBuilds(
  commit: string,
  options: { readonly images: boolean; readonly dockerOptions: readonly string[] },
): Promise<string[]> {
  const top = await mkdtemp(path.join(os.tmpdir(), 'annal-reproduce-'))
  const outs = [path.join(top, 'first'), path.join(top, 'second')] as const
  let keep = false
  try {
    for (const [index, { folder, umask, env }] of places.entries()) {
      const dir = path.join(top, folder)
      const out = outs[index] ?? ''
      const checkout = await checkOut(root, commit, dir)
      await buildPackages(checkout, out, { umask, env })
      const dockerOptions = ['--no-cache', ...options.dockerOptions]
      if (options.images) await buildImages(checkout, versionOf(dir), out, dockerOptions)
      await rm(dir, { recursive: true })
    }
    for (const [name, digest] of await digestsOf(outs[0])) console.log(`${digest}  ${name}`)
    // Also if they cannot be compared.
    keep = true
    const found = await differences(...outs)
    keep = found.length > 0
    return keep ? [...found, `both builds are in ${outs.join(' and ')}`] : []
  } finally {
    if (!keep) await rm(top, { recursive: true, force: true })
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
  console.log(found.length === 0 ? 'both builds have the same bytes' : `${found.length - 1} files differ`)
  process.exitCode = found.length === 0 ? 0 : 1
}
