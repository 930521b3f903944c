// The manifests of Kubernetes in docker/kubernetes: they fit the types of Kubernetes, what they name exists, nothing runs with rights, and the
// program of the backup job backs up a real server. kubectl reads them too, where it is installed.
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Test, test } from 'tap'
import { readConfig } from '../../packages/server/src/index.ts'
import { commandScript } from '../../packages/server/test/programs.ts'
import { runningApp } from '../../packages/server/test/running-app.ts'
import { answers } from './docker-engine.ts'
import { type Labels, manifestsOf, place, podOf, typeFaults, variants } from './manifest.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const includes = (labels: Labels, wanted: Labels) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value)

for (const variant of variants) {
  const manifests = manifestsOf(variant)
  const pods = manifests.flatMap((one) => podOf(one) ?? [])

  test(`${variant}: every manifest fits the types of Kubernetes`, async (t) => {
    for (const manifest of manifests) {
      t.same(typeFaults(manifest), [])
      t.equal(manifest.metadata.namespace, 'annal')
    }
    const [set] = manifests.filter(({ kind }) => kind === 'StatefulSet')
    const misspelled = { ...set!, spec: { ...set?.spec, replica: 1 } }
    t.match(typeFaults(misspelled), [/replica/], 'a key that Kubernetes does not have is found')
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
  writeFileSync(command, commandScript)
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
