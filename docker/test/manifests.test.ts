// The manifests of Kubernetes in docker/kubernetes: they fit the types of Kubernetes, what they name exists, nothing runs with rights, and the
// program of the backup job backs up a real server. kubectl reads them too, where it is installed.
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { type Test, test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../packages/server/src/index.ts'
import { runningApp } from '../../packages/server/test/running-app.ts'
import { answers } from './docker-engine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const place = path.join(root, 'docker/kubernetes')
const variants = ['single', 'cluster'] as const

type Labels = Readonly<Record<string, string>>

interface Container {
  readonly name: string
  readonly image: string
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly resources?: { readonly requests?: object; readonly limits?: { readonly memory?: string } }
  readonly volumeMounts?: readonly { readonly name: string }[]
  readonly [probe: `${string}Probe`]:
    | { readonly httpGet?: { readonly path: string; readonly port: string } }
    | undefined
}

interface Pod {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly containers: readonly Container[]
    readonly volumes: readonly { readonly name: string }[]
    readonly securityContext: Readonly<Record<string, unknown>>
    readonly automountServiceAccountToken: boolean
  }
}

interface Manifest {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly template?: Pod
    readonly jobTemplate?: { readonly spec: { readonly template: Pod } }
    readonly selector?: Labels & { readonly matchLabels?: Labels }
    readonly podSelector?: { readonly matchLabels: Labels }
    readonly ports?: readonly { readonly targetPort?: string; readonly port: number }[]
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    readonly serviceName?: string
  }
}

const schema = JSON.parse(readFileSync(path.join(root, 'docker/schemas/kubernetes.schema.json'), 'utf8'))
const ajv = new Ajv({ strict: false, allErrors: true })
ajv.addSchema({ $id: 'kubernetes', ...schema })

function manifestsOf(variant: string): Manifest[] {
  const files = readdirSync(path.join(place, variant)).filter((name) => name.endsWith('.yml'))
  return files.flatMap((file) => {
    const documents = parseAllDocuments(readFileSync(path.join(place, variant, file), 'utf8'))
    for (const { errors } of documents) if (errors[0]) throw errors[0]
    return documents.map((document) => document.toJS() as Manifest)
  })
}

function podOf({ spec }: Manifest): Pod | undefined {
  return spec?.template ?? spec?.jobTemplate?.spec.template
}

const includes = (labels: Labels, wanted: Labels) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value)

for (const variant of variants) {
  const manifests = manifestsOf(variant)
  const pods = manifests.flatMap((one) => podOf(one) ?? [])

  test(`${variant}: every manifest fits the types of Kubernetes`, async (t) => {
    for (const manifest of manifests) {
      const { kind, metadata } = manifest
      const validate = ajv.getSchema(`kubernetes#/${kind}`)
      t.ok(validate?.(manifest), `${kind} ${metadata.name}: ${ajv.errorsText(validate?.errors)}`)
      t.equal(metadata.namespace, 'annal')
    }
    const [set] = manifests.filter(({ kind }) => kind === 'StatefulSet')
    const misspelled = { ...set, spec: { ...set?.spec, replica: 1 } }
    t.notOk(ajv.getSchema('kubernetes#/StatefulSet')?.(misspelled), 'a key that Kubernetes does not have is found')
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    t.equal(new Set(names).size, names.length, 'no name is used twice')
    for (const kind of ['StatefulSet', 'Service', 'PodDisruptionBudget', 'NetworkPolicy', 'CronJob', 'ServiceAccount'])
      t.ok(
        names.some((name) => name.startsWith(`${kind} annal`)),
        kind,
      )
  })

  test(`${variant}: what manifests select, mount, and refer to exists`, async (t) => {
    for (const { kind, metadata, spec } of manifests) {
      const selector =
        kind === 'Service' ? spec.selector : (spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels)
      if (selector)
        t.ok(
          pods.some((pod) => includes(pod.metadata.labels, selector)),
          `${kind} ${metadata.name} selects a pod`,
        )
      if (spec?.serviceName !== undefined)
        t.ok(manifests.some((one) => one.kind === 'Service' && one.metadata.name === spec.serviceName))
    }
    for (const manifest of manifests) {
      const pod = podOf(manifest)
      if (pod === undefined) continue
      const claims = (manifest.spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name)
      const volumes = [...pod.spec.volumes.map(({ name }) => name), ...claims]
      for (const container of pod.spec.containers)
        t.same(
          (container.volumeMounts ?? []).map(({ name }) => name).filter((name) => !volumes.includes(name)),
          [],
        )
    }
  })

  test(`${variant}: nothing runs as root, writes into its image, or holds rights`, async (t) => {
    for (const { spec } of pods) {
      t.match(spec.securityContext, { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } })
      t.equal(spec.automountServiceAccountToken, false)
      for (const { name, securityContext, resources } of spec.containers) {
        t.match(securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        t.ok(resources?.requests && resources.limits?.memory, `${name} has requests, and a limit of memory`)
      }
    }
  })

  test(`${variant}: settings, routes, ports, and images are those of the server`, async (t) => {
    const known = new Set(readConfig({}).config.inForce.map(({ name }) => name))
    const natsVersion = /^NATS_VERSION=(.+)$/m.exec(readFileSync(path.join(root, 'docker/cluster/.env'), 'utf8'))?.[1]
    for (const { name, image, env = [], ports = [], ...rest } of pods.flatMap(({ spec }) => spec.containers)) {
      t.equal(image, name === 'nats' ? `nats:${natsVersion}` : 'annal/server:latest')
      if (name === 'annal') for (const { name: setting } of env) t.ok(known.has(setting), `${setting} is a setting`)
      for (const [key, probe] of Object.entries(rest).filter(([key]) => key.endsWith('Probe')) as [
        string,
        { httpGet?: { path: string; port: string } },
      ][]) {
        if (probe.httpGet === undefined) continue
        t.ok(
          ports.some((port) => port.name === probe.httpGet?.port),
          `${key} of ${name} uses a port of the container`,
        )
        if (name === 'annal') t.equal((await (await runningApp(t)).send('GET', probe.httpGet.path)).status, 200)
      }
    }
  })

  test(`${variant}: kubectl reads what is written`, {
    skip: answers('kubectl', 'version', '--client') ? false : 'needs kubectl',
  }, async (t) => {
    const dir = await temporary(t)
    for (const manifest of manifests.filter((one) => podOf(one) !== undefined)) {
      const file = path.join(dir, `${manifest.kind}-${manifest.metadata.name}.json`)
      writeFileSync(file, JSON.stringify(manifest))
      // It changes nothing, and writes what it knows of the file.
      const args = ['set', 'env', '--local', '-f', file, 'ANNAL_TEST=1', '-o', 'json']
      const read = JSON.parse(execFileSync('kubectl', args, { encoding: 'utf8' })) as unknown
      t.same(lostKeys(manifest, read, manifest.kind), [], `${manifest.kind} ${manifest.metadata.name}`)
    }
  })
}

async function temporary(t: Test): Promise<string> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-manifests-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** Keys that the second value does not have, by their paths. */
function lostKeys(given: unknown, read: unknown, where: string): string[] {
  if (typeof given !== 'object' || given === null) return read === undefined ? [where] : []
  const found = read as Readonly<Record<string, unknown>> | undefined
  return Object.entries(given).flatMap(([key, value]) => {
    const isEmpty = value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
    return isEmpty ? [] : lostKeys(value, found?.[key], `${where}.${key}`)
  })
}

test('both variants have the same backup job', async (t) => {
  const [single, cluster] = variants.map((variant) => readFileSync(path.join(place, variant, 'backup.yml'), 'utf8'))
  t.equal(single, cluster)
})

test('the program of the backup job backs up every collection, and keeps the newest', async (t) => {
  const dir = await temporary(t)
  const source = manifestsOf('single').find(
    ({ metadata, kind }) => kind === 'ConfigMap' && metadata.name === 'annal-backup',
  )
  const program = path.join(dir, 'backup.mjs')
  writeFileSync(program, source?.data?.['backup.mjs'] ?? '')
  const command = path.join(dir, 'annal')
  const entry = path.join(root, 'packages/cli/src/annal.ts')
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" --conditions=annal-source "${entry}" "$@"\n`)
  chmodSync(command, 0o755)
  const { send, url, engine } = await runningApp(t, { authToken: 'a-token-of-the-test' })
  const headers = { authorization: 'a-token-of-the-test' }
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
  for (const name of ['films', 'music'])
    t.equal((await send('POST', '/api/v2/collection', { json: { name, fields }, headers })).status, 200)
  const { backups } = engine.database()
  for (const time of ['20260101T000000', '20260102T000000']) {
    await backups.create('films', `nightly-films-${time}`)
    await backups.settled()
  }
  const environment = { NDD_SERVER_URL: url, ANNAL_TOKEN: headers.authorization, ANNAL_BACKUP_KEEP: '2' }
  const run = (more: object) =>
    promisify(execFile)(process.execPath, [program], {
      env: { ...process.env, ...environment, ...more, PATH: `${dir}:${process.env.PATH}` },
    })
  const { stdout } = await run({})
  t.match(stdout, /^nightly-films-\d{8}T\d{6}\nnightly-music-\d{8}T\d{6}\n$/)
  const names = backups.list().map(({ name }) => name)
  t.same(names.map((name) => name.replace(/\d{8}T\d{6}$/, '')).sort(), [
    'nightly-films-',
    'nightly-films-',
    'nightly-music-',
  ])
  t.ok(names.includes('nightly-films-20260102T000000') && !names.includes('nightly-films-20260101T000000'))
  await t.rejects(run({ ANNAL_TOKEN: 'wrong' }), { code: 1, stderr: /GET collection: 401/ })
})

const chart = path.join(root, 'docker/helm/annal')

test('the chart names only values that it has, and ends what it begins', async (t) => {
  const values = parse(readFileSync(path.join(chart, 'values.yaml'), 'utf8')) as object
  for (const file of readdirSync(path.join(chart, 'templates'))) {
    const text = readFileSync(path.join(chart, 'templates', file), 'utf8')
    for (const [, name = ''] of text.matchAll(/\.Values\.([\w.]+)/g)) {
      const value = name
        .split('.')
        .reduce<unknown>((one, key) => (one as Readonly<Record<string, unknown>>)?.[key], values)
      t.not(value, undefined, `${file}: ${name}`)
    }
    const count = (pattern: RegExp) => [...text.matchAll(pattern)].length
    // Of one line: `if` and `end` of a value, and blocks.
    t.equal(count(/\{\{-? (if|range) /g), count(/\{\{-? end \}\}/g), file)
  }
})

for (const variant of variants)
  test(`${variant}: the chart makes the plain manifests`, {
    skip: answers('helm', 'version') ? false : 'needs helm; the chart is unverified',
  }, async (t) => {
    const args = ['template', 'annal', chart, '-n', 'annal', '--set', `cluster.enabled=${variant === 'cluster'}`]
    const rendered = parseAllDocuments(execFileSync('helm', args, { encoding: 'utf8' })).map(
      (one) => one.toJS() as Manifest,
    )
    const plain = manifestsOf(variant).filter(
      ({ kind, metadata }) => kind !== 'CronJob' && metadata.name.startsWith('annal'),
    )
    for (const manifest of rendered) {
      const validate = ajv.getSchema(`kubernetes#/${manifest.kind}`)
      t.ok(validate?.(manifest), `${manifest.kind}: ${ajv.errorsText(validate?.errors)}`)
      const same = plain.find(
        ({ kind, metadata: { name } }) => kind === manifest.kind && name === manifest.metadata.name,
      )
      t.same(lostKeys(same?.spec, manifest.spec, manifest.kind), [])
    }
  })
