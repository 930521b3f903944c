// An image as a folder in the layout of OCI, and the archive of it. The index states the image and the time of the commit, and nothing else:
// builders also write there what they remember of the image, such as the names under which it was read before, so that two builds of the same
// layers gave two archives. Blobs have their digests as names, so there is nothing to add to them.
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runStep } from './run-step.ts'

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly annotations?: Readonly<Record<string, string>>
  readonly platform?: Readonly<Record<string, string>>
}

const created = 'org.opencontainers.image.created'
const order = [
  '--format=ustar',
  '--sort=name',
  '--mtime=@0',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=u=rwX,go=rX',
]

/** Writes the archive of a layout with one image and resolves to its digest. Rewrites the index of the layout. */
export async function archiveLayout(layout: string, archive: string): Promise<string> {
  const file = path.join(layout, 'index.json')
  const { manifests } = JSON.parse(await readFile(file, 'utf8')) as { readonly manifests: readonly Descriptor[] }
  const [image, ...others] = manifests
  if (image === undefined || others.length > 0) throw new Error(`${file} has ${manifests.length} images instead of one`)
  const { mediaType, digest, size, platform, annotations = {} } = image
  const time = annotations[created]
  const only = { mediaType, digest, size, ...(time !== undefined && { annotations: { [created]: time } }), platform }
  const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests: [only] }
  await writeFile(file, JSON.stringify(index))
  await runStep('tar', ['--create', ...order, '--file', archive, '-C', layout, 'blobs', 'index.json', 'oci-layout'])
  return digest
}
