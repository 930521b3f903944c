// Lists of components in CycloneDX: what the packages bring (`npm sbom`), and what the image has besides. The same components give the same
// bytes: the serial number is a digest of them, and the time is that of the commit.
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { installLocked } from '../install-locked.ts'
import { runStep } from './run-step.ts'

interface Component {
  readonly 'bom-ref': string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly [member: string]: unknown
}

export interface Bom {
  readonly serialNumber: string
  readonly metadata: { readonly timestamp: string; readonly component: Component; readonly [member: string]: unknown }
  readonly components: readonly Component[]
  readonly [member: string]: unknown
}

export interface Release {
  readonly version: string
  readonly epoch: number
}

/** The components of the command `annal` with everything that it needs, in the versions of the lock file. */
export async function packagesBom(tarballs: readonly string[], release: Release): Promise<Bom> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-sbom-'))
  try {
    installLocked(tarballs, dir)
    const manifest = { name: 'annal-release', version: release.version, dependencies: { annal: release.version } }
    await writeFile(path.join(dir, 'package.json'), JSON.stringify(manifest))
    const listed = JSON.parse(await runStep('npm', ['sbom', '--sbom-format=cyclonedx'], { cwd: dir })) as Bom
    const { name: _, ...component } = listed.metadata.component
    const named = { ...listed, metadata: { ...listed.metadata, component: { ...component, name: 'annal' } } }
    return dated(named as Bom, release)
  } finally {
    await rm(dir, { recursive: true })
  }
}

/** The same with the Debian packages and the Node.js of the image. `folder` is what the target `components` of the Dockerfile writes. */
export async function imageBom(packages: Bom, folder: string, release: Release): Promise<Bom> {
  const debian = await readFile(path.join(folder, 'debian-packages.tsv'), 'utf8')
  const node = (await readFile(path.join(folder, 'node-version.txt'), 'utf8')).trim().replace(/^v/, '')
  const components = [...packages.components, nodeComponent(node), ...debianComponents(debian)]
  return dated({ ...packages, components }, release)
}

function nodeComponent(version: string): Component {
  const purl = `pkg:generic/node@${version}`
  return { 'bom-ref': purl, type: 'platform', name: 'node', version, purl }
}

/** One component for each line: name, version, and architecture with tabs between them. */
export function debianComponents(lines: string): Component[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [name = '', version = '', architecture = ''] = line.split('\t')
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`
      return { 'bom-ref': purl, type: 'library', name, version, purl }
    })
}

function dated(bom: Bom, { version, epoch }: Release): Bom {
  const components = bom.components.toSorted((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1))
  const digest = createHash('sha256').update(JSON.stringify({ version, components })).digest('hex')
  return {
    ...bom,
    serialNumber: `urn:uuid:${uuidOf(digest)}`,
    metadata: { ...bom.metadata, timestamp: new Date(epoch * 1_000).toISOString() },
    components,
  }
}

/** A UUID of version 8, which is made of bytes of one's own choice. */
function uuidOf(digest: string): string {
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 3) | 8).toString(16)
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, variant + digest.slice(17, 20)]
  return [...parts, digest.slice(20, 32)].join('-')
}
