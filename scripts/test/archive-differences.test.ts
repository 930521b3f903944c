// Archives with other bytes: what differs in them is named, of images by layer. An image in the layout of OCI gives one archive, whatever a
// builder remembers of it.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type Test, test } from 'tap'
import { archiveDifferences } from '../release/archive-differences.ts'
import { differences } from '../release/checksums.ts'
import { archiveLayout } from '../release/image-layout.ts'

const tar = (cwd: string, ...args: readonly string[]) => execFileSync('tar', ['--create', ...args], { cwd })

/** The files of a layer, in the order of the names given, compressed. */
function layerOf(folder: string, names: readonly string[], ...options: readonly string[]): Buffer {
  const fixed = ['--owner=0', '--group=0', '--mtime=@1000000000', '--mode=u=rw,go=r']
  return gzipSync(tar(folder, ...fixed, ...options, ...names))
}

interface Parts {
  readonly layers: readonly Buffer[]
  readonly config?: object
  readonly annotations?: Readonly<Record<string, string>>
}

/** Writes the layout of an image. */
function layImage(folder: string, { layers, config = {}, annotations = {} }: Parts): string {
  const blobs = path.join(folder, 'blobs/sha256')
  mkdirSync(blobs, { recursive: true })
  const store = (bytes: Buffer, mediaType: string) => {
    const digest = createHash('sha256').update(bytes).digest('hex')
    writeFileSync(path.join(blobs, digest), bytes)
    return { mediaType: `application/vnd.oci.image.${mediaType}`, digest: `sha256:${digest}`, size: bytes.length }
  }
  const storeJson = (value: object, mediaType: string) => store(Buffer.from(JSON.stringify(value)), mediaType)
  const described = layers.map((layer) => store(layer, 'layer.v1.tar+gzip'))
  const diffIds = layers.map((layer) => createHash('sha256').update(gunzipSync(layer)).digest('hex'))
  const settings = storeJson({ os: 'linux', ...config, rootfs: { diff_ids: diffIds } }, 'config.v1+json')
  const manifest = storeJson({ schemaVersion: 2, config: settings, layers: described }, 'manifest.v1+json')
  const created = { 'org.opencontainers.image.created': '2026-01-02T03:04:05Z' }
  const image = { ...manifest, annotations: { ...annotations, ...created }, platform: { os: 'linux' } }
  writeFileSync(path.join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [image] }))
  writeFileSync(path.join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  return folder
}

/** Writes an archive with everything that the layout has into the folder of the test. */
function archive(t: Test, name: string, parts: Parts): string {
  const dir = t.testdirName
  const layout = layImage(path.join(dir, name), parts)
  writeFileSync(path.join(dir, `${name}.tar`), tar(layout, '--sort=name', '--mtime=@0', '.', '--transform=s,^\\./,,'))
  return path.join(dir, `${name}.tar`)
}

test('of two images, the layer and what differs in its files are named', async (t) => {
  const folder = t.testdir({
    a: { same: '1', text: 'first', moved: '2', old: '3' },
    b: { same: '1', text: 'other', moved: '2', new: '' },
  })
  symlinkSync('same', path.join(folder, 'a/link'))
  symlinkSync('text', path.join(folder, 'b/link'))
  const base = layerOf(path.join(folder, 'a'), ['same'])
  const top = (name: string, ...options: readonly string[]) =>
    layerOf(path.join(folder, name), ['same', 'text', 'link', name === 'a' ? 'old' : 'new'], ...options)
  const one = archive(t, 'one', { layers: [base, top('a')] })
  const other = archive(t, 'other', { layers: [base, top('b')] })
  const found = await archiveDifferences(one, other)
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  t.strictSame(found, [
    `layer 2 of 2: text: content ${digest('first')} and ${digest('other')}`,
    'layer 2 of 2: link: link same and text',
    'layer 2 of 2: old is only in the first',
    'layer 2 of 2: new is only in the second',
  ])
  const modes = archive(t, 'modes', { layers: [base, top('a', '--mode=u=rwx', '--owner=7', '--mtime=@1000000001')] })
  t.match(await archiveDifferences(one, modes), [
    'layer 2 of 2: same: mode -rw-r--r-- and -rwxr--r--, owner 0/0 and 7/0, time 2001-09-09 01:46:40 and 2001-09-09 01:46:41',
    /text: mode/,
    /link: /,
    /old: mode/,
  ])
  const fewer = archive(t, 'fewer', { layers: [base] })
  t.match(await archiveDifferences(one, fewer), [/^manifest\.layers\[1\]: \{.* and nothing$/])
  t.match(await archiveDifferences(fewer, one), [/^manifest\.layers\[1\]: nothing and \{/])
})

test('what differs outside of files is named', async (t) => {
  const folder = t.testdir({ a: '1', b: '2' })
  const layers = [layerOf(folder, ['a', 'b'])]
  const one = archive(t, 'one', { layers })
  const source = { 'containerd.io/distribution.source.docker.io': 'library/server' }
  t.strictSame(await archiveDifferences(one, archive(t, 'annotated', { layers, annotations: source })), [
    'index.manifests[0].annotations.containerd.io/distribution.source.docker.io: nothing and "library/server"',
  ])
  const history = [{ created: '2026-01-01', created_by: 'RUN date' }]
  t.strictSame(await archiveDifferences(one, archive(t, 'config', { layers, config: { history } })), [
    'config.history: nothing and [{"created":"2026-01-01","created_by":"RUN date"}]',
  ])
  const turned = archive(t, 'turned', { layers: [layerOf(folder, ['b', 'a'])] })
  t.strictSame(await archiveDifferences(one, turned), [
    'layer 1 of 1: the same entries in another order: entry 1 is a and b',
  ])
  const smaller = archive(t, 'smaller', { layers: [gzipSync(gunzipSync(layers[0]!), { level: 1 })] })
  t.match(await archiveDifferences(one, smaller), [/^layer 1 of 1: the same entries .* or the compression differ$/])
})

test('the same is done for packed packages of two folders, with a limit', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`file-${i}`, `${i}`]))
  const empty = Object.fromEntries(Object.keys(files).map((name) => [name, '']))
  const dir = t.testdir({ a: files, b: { ...empty, 'file-0': '0' }, one: { 'x.zip': '1' }, other: { 'x.zip': '2' } })
  const names = Object.keys(files).sort()
  writeFileSync(path.join(dir, 'one/p.tgz'), layerOf(path.join(dir, 'a'), names))
  writeFileSync(path.join(dir, 'other/p.tgz'), layerOf(path.join(dir, 'b'), names))
  const [packed = '', zip = ''] = await differences(path.join(dir, 'one'), path.join(dir, 'other'))
  const lines = packed.split('\n  ')
  t.match(lines[0], /^p\.tgz has other bytes in a second build: [0-9a-f]{64} and [0-9a-f]{64}$/)
  t.match(lines[1], /^file-1: size 1 and 0, content [0-9a-f]{64} and e3b0c442[0-9a-f]{56}$/)
  t.equal(lines.length, 22)
  t.equal(lines.at(-1), 'and 9 more')
  t.match(zip, /^x\.zip has other bytes in a second build: \S+ and \S+$/)
})

test('an image has one archive, whatever its builder remembers', async (t) => {
  const dir = t.testdir({ file: 'text' })
  const layers = [layerOf(dir, ['file'])]
  const remembered = {
    'containerd.io/distribution.source.docker.io': 'library/server',
    'org.opencontainers.image.ref.name': 'latest',
  }
  const digests: string[] = []
  for (const [name, annotations] of [['one', {}] as const, ['other', remembered] as const]) {
    const layout = layImage(path.join(dir, name), { layers, annotations })
    mkdirSync(path.join(layout, 'ingest'))
    digests.push(await archiveLayout(layout, path.join(dir, `${name}.tar`)))
    if (name === 'one') continue
    // Again, from files that another user wrote at another time.
    chmodSync(path.join(layout, 'index.json'), 0o600)
    utimesSync(path.join(layout, 'oci-layout'), 1, 1)
    await archiveLayout(layout, path.join(dir, 'again.tar'))
  }
  t.equal(new Set(digests).size, 1)
  const [one, other, again] = ['one', 'other', 'again'].map((name) => readFileSync(path.join(dir, `${name}.tar`)))
  t.ok(one?.equals(other!) && one.equals(again!), 'the archives have the same bytes')
  const listed = execFileSync('tar', ['--list', '--file', path.join(dir, 'one.tar')], { encoding: 'utf8' })
  t.match(listed, /^blobs\/\nblobs\/sha256\/\n(blobs\/sha256\/[0-9a-f]{64}\n){3}index\.json\noci-layout\n$/)
  const index = path.join(dir, 'one/index.json')
  const { manifests } = JSON.parse(readFileSync(index, 'utf8')) as { readonly manifests: readonly unknown[] }
  t.match(manifests, [{ annotations: { 'org.opencontainers.image.created': '2026-01-02T03:04:05Z' } }])
  writeFileSync(index, JSON.stringify({ manifests: [...manifests, ...manifests] }))
  await t.rejects(archiveLayout(path.join(dir, 'one'), path.join(dir, 'two.tar')), /has 2 images instead of one/)
})
