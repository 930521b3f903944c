// The images as OCI archives whose layers have the same bytes in every build of a commit. That needs a builder that writes archives and sets
// the times of files: the driver docker-container, or an engine that keeps images in containerd.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Checkout } from './build-packages.ts'
import { archiveLayout } from './image-layout.ts'
import { runStep } from './run-step.ts'

/** Resolves to what is missing here, or to undefined. */
export async function missingForImages(): Promise<string | undefined> {
  try {
    const driver = await runStep('docker', ['buildx', 'inspect'])
    if (/^Driver:\s+docker-container$/m.test(driver)) return undefined
    const info = await runStep('docker', ['info', '--format', '{{.DriverStatus}}'])
    if (info.includes('io.containerd.snapshotter')) return undefined
    return 'the builder cannot set the times of files: use the driver docker-container, or images in containerd'
  } catch {
    // Not installed, or not running.
    return 'no Docker engine with buildx answers'
  }
}

/**
 * Builds both images into `out`.
 * @param options further options of `docker buildx build`, such as `--no-cache`
 */
export async function buildImages(
  checkout: Checkout,
  version: string,
  out: string,
  options: readonly string[] = [],
): Promise<void> {
  await mkdir(out, { recursive: true })
  const archive = (name: string) => path.join(out, `annal-${name}-${version}.oci.tar`)
  const layouts = await mkdtemp(path.join(out, 'layouts-'))
  const [server, web] = [path.join(layouts, 'server'), path.join(layouts, 'web')]
  try {
    await build(checkout, options, ['-f', 'docker/server.Dockerfile', ...writtenTo(server, version), '.'])
    const digest = await archiveLayout(server, archive('server'))
    const base = ['--build-context', `server=oci-layout://${server}@${digest}`, '--build-arg', 'SERVER_IMAGE=server']
    await build(checkout, options, ['-f', 'docker/web.Dockerfile', ...base, ...writtenTo(web, version), 'docker'])
    await archiveLayout(web, archive('web'))
  } finally {
    await rm(layouts, { recursive: true, force: true })
  }
}

/** Writes what the base image has to a folder. */
export async function listComponents(
  checkout: Checkout,
  folder: string,
  options: readonly string[] = [],
): Promise<void> {
  const target = ['--target', 'components', '--output', `type=local,dest=${folder}`]
  await build(checkout, options, ['-f', 'docker/server.Dockerfile', ...target, '.'])
}

/** The layout has no attestations, which state times. A published image has them. */
function writtenTo(layout: string, version: string): string[] {
  const annotation = `annotation.org.opencontainers.image.version=${version}`
  return ['--provenance=false', '--output', `type=oci,tar=false,dest=${layout},rewrite-timestamp=true,${annotation}`]
}

async function build({ dir, epoch }: Checkout, options: readonly string[], args: readonly string[]): Promise<void> {
  const given = ['--build-arg', `SOURCE_DATE_EPOCH=${epoch}`]
  await runStep('docker', ['buildx', 'build', '--progress=plain', ...given, ...options, ...args], { cwd: dir })
}
