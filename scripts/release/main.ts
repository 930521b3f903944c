// `npm run release -- --dry-run [--as VERSION]`: everything of a release except its publication, from a clone of the commit: checks, packages,
// images where a builder can make them, lists of components, checksums; then the commands that would publish it.
// `npm run release -- prepare VERSION`: writes the version and the heading of the changelog, for a commit.
// `npm run release -- --publish`: the same as a dry run, and then the commands. Any fault stops it before them.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildPackages, type Checkout, checkOut } from './build-packages.ts'
import { checksumsFile, differences, digestsOf, writeChecksums } from './checksums.ts'
import { buildImages, listComponents, missingForImages } from './images.ts'
import { publicationCommands } from './publication.ts'
import { runStep } from './run-step.ts'
import { imageBom, packagesBom } from './sbom.ts'
import { changelogFaults, setVersion, versionFaults, versionOf } from './version.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const usage = `usage: npm run release -- prepare VERSION
       npm run release -- (--dry-run | --publish) [options]

  --dry-run            run everything except the publication, and print its commands
  --publish            run everything, then publish; needs a CI job with an identity for provenance
  --as VERSION         (dry run) prepare this version in the clone first, as \`prepare\` would in a commit
  --out DIR            folder for the artifacts                    (release)
  --twice              build the packages twice and compare
  --no-images          leave the images out
  --images-to NAME     publish images as NAME/server and NAME/web  (without: images are not published)
  --docker-option TEXT option of \`docker buildx build\`; repeat it for more
`

const { values, positionals } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
    as: { type: 'string' },
    out: { type: 'string', default: 'release' },
    twice: { type: 'boolean', default: false },
    'no-images': { type: 'boolean', default: false },
    'images-to': { type: 'string' },
    'docker-option': { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
})

const today = () => new Date().toISOString().slice(0, 10)
const [verb, given] = positionals
if (verb === 'prepare' && given !== undefined && positionals.length === 2) {
  setVersion(root, given, today())
  console.log(`every package is version ${given}; commit this`)
} else if (
  positionals.length > 0 ||
  values['dry-run'] === values.publish ||
  (values.publish && values.as !== undefined)
) {
  console.error(usage)
  process.exitCode = 64
} else {
  process.exitCode = await release()
}

/** Resolves to the exit code. */
async function release(): Promise<number> {
  const top = await mkdtemp(path.join(os.tmpdir(), 'annal-release-'))
  try {
    const out = path.resolve(root, values.out)
    await clearFolder(out)
    const faults = await workingTreeFaults()
    const commit = (await runStep('git', ['rev-parse', 'HEAD'], { cwd: root })).trim()
    say(`commit ${commit}`)
    const checkout = await checkOut(root, commit, path.join(top, 'checkout'))
    if (values.as !== undefined) await prepareClone(checkout, values.as)
    const version = versionOf(checkout.dir)
    say(`version ${version}`)
    faults.push(...versionFaults(checkout.dir), ...changelogFaults(checkout.dir), ...(await tagFaults(version)))
    if (faults.length > 0 && values.publish) return end(faults)

    await buildPackages(checkout, out)
    for (const name of (await digestsOf(out)).keys()) say(`made ${name}`)
    if (values.twice) faults.push(...(await compareWithSecond(checkout, out, top)))
    const images = await makeImages(checkout, version, out, faults)
    await writeBoms(checkout, version, out, images ? top : undefined)
    await writeChecksums(out)
    say(`made SHA256SUMS, in ${out}`)

    const commands = publicationCommands({
      ...{ version, commit, out, epoch: checkout.epoch, dockerOptions: values['docker-option'] },
      images: images ? values['images-to'] : undefined,
    })
    if (values.publish && faults.length > 0) return end(faults)
    for (const { what, program, args } of commands) {
      console.log(`${values.publish ? '' : 'would '}${what}: ${[program, ...args].join(' ')}`)
      if (values.publish) await runStep(program, args, { cwd: checkout.dir })
    }
    if (!values.publish) say('provenance: only a published release has it; this was a dry run')
    return end(faults)
  } finally {
    await rm(top, { recursive: true, force: true })
  }
}

/** Removes an earlier release. A folder with anything else is refused. */
async function clearFolder(out: string): Promise<void> {
  await mkdir(out, { recursive: true })
  const names = await readdir(out)
  if (names.length > 0 && !names.includes(checksumsFile))
    throw new Error(`--out ${out} has files, and no ${checksumsFile} of an earlier release: choose another folder`)
  await rm(out, { recursive: true })
  await mkdir(out)
  // A run that fails leaves a folder that the next one may remove.
  await writeFile(path.join(out, checksumsFile), '')
}

function end(faults: readonly string[]): number {
  for (const fault of faults) console.error(`not ready: ${fault}`)
  say(faults.length === 0 ? 'ready' : `${faults.length} faults`)
  return faults.length === 0 ? 0 : 1
}

function say(line: string): void {
  console.log(`release: ${line}`)
}

async function workingTreeFaults(): Promise<string[]> {
  const changed = (await runStep('git', ['status', '--porcelain'], { cwd: root }))
    .split('\n')
    .filter((line) => line !== '')
  return changed.length === 0 ? [] : [`the working tree has changes, which are in no release: ${changed.join(', ')}`]
}

async function tagFaults(version: string): Promise<string[]> {
  const tags = await runStep('git', ['tag', '--list', `v${version}`], { cwd: root })
  return tags === '' ? [] : [`there is a tag v${version}: prepare the next version`]
}

/** The commit that `prepare` leads to, in the clone. */
async function prepareClone(checkout: Checkout, version: string): Promise<void> {
  setVersion(checkout.dir, version, today())
  const author = ['-c', 'user.name=release', '-c', 'user.email=release@localhost']
  await runStep('git', [...author, 'commit', '--quiet', '--all', '--message', `release: prepare ${version}`], {
    cwd: checkout.dir,
  })
}

async function compareWithSecond(checkout: Checkout, out: string, top: string): Promise<string[]> {
  const other = path.join(top, 'the second one')
  const commit = (await runStep('git', ['rev-parse', 'HEAD'], { cwd: checkout.dir })).trim()
  const second = await checkOut(checkout.dir, commit, path.join(other, 'checkout'))
  await buildPackages({ ...second, epoch: checkout.epoch }, path.join(other, 'out'), {
    umask: 0o027,
    env: { TZ: 'Asia/Tokyo' },
  })
  const found = await differences(out, path.join(other, 'out'))
  say(found.length === 0 ? 'a second build has the same bytes' : 'a second build has other bytes')
  return found
}

/** Resolves to whether the images were made. */
async function makeImages(checkout: Checkout, version: string, out: string, faults: string[]): Promise<boolean> {
  if (values['no-images']) {
    say('no images (--no-images)')
    return false
  }
  const missing = await missingForImages()
  if (missing !== undefined) {
    say(`no images: ${missing}`)
    if (values.publish) faults.push(missing)
    return false
  }
  await buildImages(checkout, version, out, values['docker-option'])
  say('made the images')
  return true
}

async function writeBoms(checkout: Checkout, version: string, out: string, top: string | undefined): Promise<void> {
  const tarballs = [...(await digestsOf(out)).keys()].filter((name) => name.endsWith('.tgz'))
  const stated = { version, epoch: checkout.epoch }
  const packages = await packagesBom(
    tarballs.map((name) => path.join(out, name)),
    stated,
  )
  await write(`annal-${version}.cdx.json`, packages)
  if (top === undefined) return
  const components = path.join(top, 'components')
  await listComponents(checkout, components, values['docker-option'])
  await write(`annal-server-${version}.image.cdx.json`, await imageBom(packages, components, stated))

  async function write(name: string, bom: { readonly components: readonly unknown[] }): Promise<void> {
    await writeFile(path.join(out, name), `${JSON.stringify(bom, null, 2)}\n`)
    say(`made ${name}, ${bom.components.length} components`)
  }
}
