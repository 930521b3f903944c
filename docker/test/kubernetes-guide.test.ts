// Runs the commands of docs/guide/kubernetes.md. kubectl makes the objects as for a cluster and sends them to none (`--dry-run=client`,
// `kubectl kustomize`). Then everything that pods name must have been created, and NATS must accept its configuration and certificate.
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { after, type Test, test } from 'tap'
import { stepsOf } from '../../docs/test/code-blocks.ts'
import { type ChartRenderer, chartRenderer } from './chart-renderer.ts'
import { answers } from './docker-engine.ts'
import { type Manifest, manifestsIn, podOf, typeFaults } from './manifest.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const nats = path.join(root, '.tools/nats-server')
const blocks = stepsOf(path.join(root, 'docs/guide/kubernetes.md')).map(({ code }) => code)

const missing =
  answers('kubectl', 'version', '--client') && answers('openssl', 'version') ? false : 'needs kubectl and openssl'

/** `kubectl` that writes to a file what it would send. */
const kubectl = (real: string, sent: string) => `#!/bin/bash
set -euo pipefail
{
  echo ---
  case " $* " in
    *" create "*) "${real}" "$@" --dry-run=client -o json ;;
    "apply -k "* | " apply -k "*) "${real}" kustomize "$3" ;;
    " apply -f "*) cat "$3" ;;
    *) echo "kubectl $* needs a cluster" >&2; exit 1 ;;
  esac
} >>"${sent}"
`

/** `helm` that writes to a file what it would install. */
const helm = (real: string, sent: string) => `#!/bin/bash
set -euo pipefail
case $1 in install | upgrade) ;; *) exit 1 ;; esac
"${real}" template "\${@:2}" >>"${sent}"
`

/** What a page leaves behind: its files, and what it sent before each of its blocks. */
interface Ran {
  readonly dir: string
  readonly sent: readonly (readonly Manifest[])[]
}

function runBlocks(t: Test, codes: readonly string[], renderer: ChartRenderer | undefined): Ran {
  const dir = t.testdir({ bin: {}, docker: {} })
  for (const folder of ['kubernetes', 'helm'])
    cpSync(path.join(root, 'docker', folder), path.join(dir, 'docker', folder), { recursive: true })
  const file = path.join(dir, 'sent.yaml')
  const real = execFileSync('bash', ['-c', 'command -v kubectl'], { encoding: 'utf8' }).trim()
  const commands = { kubectl: kubectl(real, file), ...(renderer && { helm: helm(renderer.program, file) }) }
  for (const [name, text] of Object.entries(commands)) {
    writeFileSync(path.join(dir, 'bin', name), text)
    chmodSync(path.join(dir, 'bin', name), 0o755)
  }
  const mark = '\ntouch sent.yaml; mv sent.yaml "sent-$((N += 1))"\n'
  const env = {
    ...process.env,
    PATH: `${path.join(dir, 'bin')}:${process.env.PATH}`,
    HOME: dir,
    KUBECONFIG: '/dev/null',
  }
  execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', `N=0\n${codes.join(mark)}${mark}`], {
    cwd: dir,
    env,
    stdio: 'pipe',
  })
  // kubectl writes null for what only a cluster knows.
  const known = (manifests: readonly Manifest[]) =>
    JSON.parse(JSON.stringify(manifests, (_, value) => value ?? undefined)) as Manifest[]
  const sent = codes.map((_, index) => known(manifestsIn(readFileSync(path.join(dir, `sent-${index + 1}`), 'utf8'))))
  return { dir, sent }
}

/** Names of secrets and their keys that pods cannot do without. */
function wantedKeys(manifests: readonly Manifest[]): string[] {
  const wanted: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { secretKeyRef, secretName, items } = value as {
      readonly secretKeyRef?: { readonly name: string; readonly key: string }
      readonly secretName?: string
      readonly items?: readonly { readonly key: string }[]
    }
    if (secretKeyRef) wanted.push(`${secretKeyRef.name}/${secretKeyRef.key}`)
    for (const { key } of (secretName && items) || []) wanted.push(`${secretName}/${key}`)
    for (const one of Object.values(value)) visit(one)
  }
  for (const manifest of manifests) visit(podOf(manifest))
  return [...new Set(wanted)]
}

const keysOf = (manifests: readonly Manifest[]) =>
  manifests
    .filter(({ kind }) => kind === 'Secret')
    .flatMap(({ metadata: { name }, data = {} }) => Object.keys(data).map((key) => `${name}/${key}`))

const imagesOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap((one) => podOf(one)?.spec.containers.map(({ image }) => image) ?? [])

test('every block of the page is run', async (t) => {
  const text = readFileSync(path.join(root, 'docs/guide/kubernetes.md'), 'utf8')
  t.equal(text.match(/^```\w+$/gm)?.length, blocks.length, 'each has a language')
  t.equal(blocks.filter((code) => code.includes('helm ')).length, 2)
})

test('the commands create all that their pods name, with the image of the reader', { skip: missing }, async (t) => {
  const withoutHelm = blocks.filter((code) => !code.includes('helm '))
  const { dir, sent } = runBlocks(t, withoutHelm, undefined)
  const all = sent.flat()
  t.same(all.flatMap(typeFaults), [])
  t.same(
    new Set(all.map(({ metadata, kind }) => (kind === 'Namespace' ? metadata.name : metadata.namespace))),
    new Set(['annal']),
  )
  for (const [index, manifests] of sent.entries()) {
    const before = keysOf(sent.slice(0, index + 1).flat())
    t.same(
      wantedKeys(manifests).filter((key) => !before.includes(key)),
      [],
      withoutHelm[index]?.split('\n')[0] ?? '',
    )
  }
  const sets = sent.map((manifests) =>
    manifests.filter(({ kind }) => kind === 'StatefulSet').map(({ metadata }) => metadata.name),
  )
  t.same(
    sets.filter((names) => names.length > 0),
    [['annal'], ['annal', 'nats']],
  )
  t.same(
    new Set(imagesOf(all).filter((image) => image.includes('annal'))),
    new Set(['registry.example/annal/server:0.1.0']),
  )
  const jobs = all.filter(({ kind }) => kind === 'CronJob')
  t.match(JSON.stringify(jobs), 'annal-bucket')
  t.ok(keysOf(all).includes('annal-bucket/AWS_SECRET_ACCESS_KEY'))

  const secret = all.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === 'annal-nats')?.data ?? {}
  const textOf = (key: string) => Buffer.from(secret[key] ?? '', 'base64').toString()
  const certificate = new X509Certificate(textOf('nats.pem'))
  t.ok(certificate.verify(new X509Certificate(textOf('ca.pem')).publicKey), 'the authority signed the certificate')
  const config =
    all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'nats')?.data?.['nats.conf'] ?? ''
  const servers = new Set(
    [...`${config}${JSON.stringify(all)}`.matchAll(/(?:nats|tls):\/\/(nats-\d[\w.-]+)/g)].map(([, host = '']) => host),
  )
  t.equal(servers.size, 3)
  for (const host of servers) t.equal(certificate.checkHost(host), host)
  t.equal(textOf('nats.user'), `annal:${textOf('password')}`)
  t.notOk(existsSync(path.join(dir, 'ca.key')) || existsSync(path.join(dir, 'nats.key')))

  await t.test(
    'NATS accepts its configuration',
    { skip: existsSync(nats) ? false : 'needs scripts/nats-server.sh' },
    async (t) => {
      const secrets = path.join(dir, 'secrets')
      mkdirSync(secrets)
      for (const key of Object.keys(secret)) writeFileSync(path.join(secrets, key), textOf(key))
      const file = path.join(dir, 'nats.conf')
      writeFileSync(file, config.replaceAll('"/secrets/', `"${secrets}/`).replaceAll('"/data"', `"${dir}/data"`))
      const env = { ...process.env, NATS_NAME: 'nats-0', NATS_PASSWORD: textOf('password') }
      t.match(execFileSync('bash', ['-c', '"$0" -t -c "$1" 2>&1', nats, file], { env, encoding: 'utf8' }), /is valid/)
    },
  )
})

const renderer = missing ? undefined : chartRenderer()
after(() => renderer?.close())
const by = renderer === undefined ? '' : ` (rendered by ${renderer.name})`

test(`the chart is installed next to the secrets that the page creates${by}`, {
  skip: renderer === undefined ? missing || 'needs helm, or golang-go with sprig and yaml.v3' : false,
}, async (t) => {
  const { sent } = runBlocks(t, blocks, renderer)
  const charts = sent.filter((manifests) => JSON.stringify(manifests).includes('helm.sh/chart'))
  t.equal(charts.length, 2)
  t.same(charts.flat().flatMap(typeFaults), [])
  const created = keysOf(sent.flat())
  for (const manifests of charts)
    t.same(
      wantedKeys(manifests).filter((key) => !created.includes(key)),
      [],
    )
  t.same(new Set(imagesOf(charts[0] ?? [])), new Set(['registry.example/annal/server:0.1.0']))
  const [one, three] = charts.map((manifests) => manifests.find(({ kind }) => kind === 'StatefulSet')?.spec)
  t.match(one, { replicas: 1, volumeClaimTemplates: [{ spec: { storageClassName: 'fast' } }] })
  t.match(three, { replicas: 3 })
  const names = new Set(charts[1]?.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
  const plain = sent.find((manifests) =>
    manifests.some(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'nats'),
  )
  const ours = plain?.filter(({ metadata }) => metadata.name !== 'nats') ?? []
  t.same(
    ours.map(({ kind, metadata }) => `${kind} ${metadata.name}`).filter((name) => !names.has(name)),
    [],
  )
})
