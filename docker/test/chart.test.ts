// The chart of Helm in docker/helm/annal makes the plain manifests of docker/kubernetes, follows its values, and refuses wrong ones. It is
// rendered by helm, or by chart/template.go where helm is not installed.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { after, test } from 'tap'
import { parse } from 'yaml'
import { chartRenderer } from './chart-renderer.ts'
import { type Container, type Labels, type Manifest, manifestsOf, podOf, typeFaults, variants } from './manifest.ts'

const chart = fileURLToPath(new URL('../helm/annal', import.meta.url))
const read = (name: string) => readFileSync(path.join(chart, name), 'utf8')

type Values = Readonly<Record<string, unknown>>

const defaults = parse(read('values.yaml')) as Values
const schema = JSON.parse(read('values.schema.json')) as { readonly properties: Values }
const validate = new Ajv({ allErrors: true, allowUnionTypes: true, strictRequired: false }).compile(schema)
const templates = readdirSync(path.join(chart, 'templates')).map((file) => read(`templates/${file}`))

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)

function merge(to: Values, from: Values): Values {
  const changed = Object.entries(from).map(([name, value]) => {
    const old = to[name]
    return [name, isMap(value) && isMap(old) ? merge(old, value) : value]
  })
  return { ...to, ...Object.fromEntries(changed) }
}

/** Values that only have other values inside, and those that the reader sets as a whole, by their paths. */
function leaves(values: Values, above = ''): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    isMap(value) && Object.keys(value).length > 0 ? leaves(value, `${above}${name}.`) : [`${above}${name}`],
  )
}

const find = (manifests: readonly Manifest[], kind: string) => {
  const found = manifests.find((one) => one.kind === kind)
  if (found === undefined) throw new Error(`there is no ${kind}`)
  return found
}

test('values and templates belong together', async (t) => {
  const named = new Set(templates.flatMap((text) => [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, name]) => name!)))
  for (const name of named) {
    const value = name.split('.').reduce<unknown>((one, key) => (one as Values | undefined)?.[key], defaults)
    t.not(value, undefined, `values.yaml has ${name}`)
  }
  for (const leaf of leaves(defaults)) {
    const used = leaf.split('.').some((_, index, parts) => named.has(parts.slice(0, index + 1).join('.')))
    t.ok(used, `a template uses ${leaf}`)
  }
  const known = Object.keys(schema.properties).filter((name) => name !== 'global')
  t.same(known.sort(), Object.keys(defaults).sort(), 'the schema has every value')
  t.equal(validate(defaults), true, JSON.stringify(validate.errors))
  const program = find(manifestsOf('single'), 'ConfigMap').data?.['backup.mjs']
  t.equal(read('backup.mjs'), program, 'the backup job is that of the manifests')
})

test('the schema refuses wrong values and names them', async (t) => {
  const wrong: readonly (readonly [Values, string, RegExp])[] = [
    [{ replicas: 2 }, '', /replicas/],
    [{ image: { tags: 'x' } }, '/image', /tags/],
    [{ image: { tag: 'a tag' } }, '/image/tag', /pattern/],
    [{ image: { digest: 'sha256:12' } }, '/image/digest', /pattern/],
    [{ existingSecret: '' }, '/existingSecret', /pattern/],
    [{ settings: { NDD_AUTH_TOKEN: 'in-the-open' } }, '/settings', /NDD_AUTH_TOKEN/],
    [{ settings: { NDD_SERVER_PORT: 80 } }, '/settings', /NDD_SERVER_PORT/],
    [{ settings: { ndd_top_k_max: 80 } }, '/settings', /ndd_top_k_max/],
    [{ settings: { NDD_TOP_K_MAX: [80] } }, '/settings/NDD_TOP_K_MAX', /string/],
    [{ persistence: { size: '20 GB' } }, '/persistence/size', /pattern/],
    [{ resources: { limits: { memory: '2GiB' } } }, '/resources/limits/memory', /pattern/],
    [{ resources: { limit: {} } }, '/resources', /limit/],
    [{ service: { port: 0 } }, '/service/port', />= 1/],
    [{ service: { type: 'Ingress' } }, '/service/type', /LoadBalancer/],
    [{ ingress: { enabled: true } }, '/ingress/hosts', /fewer than 1/],
    [{ cluster: { nodes: 0 } }, '/cluster/nodes', />= 1/],
    [{ cluster: { urls: ['nats-0:4222'] } }, '/cluster/urls/0', /pattern/],
    [{ networkPolicy: { clientLabels: {} } }, '/networkPolicy/clientLabels', /fewer than 1/],
    [{ podMonitor: { interval: '15' } }, '/podMonitor/interval', /pattern/],
    [{ backup: { to: 'https://bucket' } }, '/backup/to', /pattern/],
    [{ nodeSelector: ['ssd'] }, '/nodeSelector', /object/],
    [{ fullnameOverride: 'shop.v1' }, '/fullnameOverride', /pattern/],
  ]
  for (const [values, where, message] of wrong) {
    const text = JSON.stringify(values)
    // `networkPolicy.clientLabels` is set as a whole here.
    const merged = text.includes('clientLabels') ? { ...defaults, ...values } : merge(defaults, values)
    t.equal(validate(merged), false, text)
    const faults = (validate.errors ?? []).filter((one) => one.instancePath === where)
    t.match(JSON.stringify(faults), message, text)
  }
})

const renderer = chartRenderer()
const skip = renderer === undefined ? 'needs helm, or golang-go with sprig and yaml.v3' : false
const by = renderer === undefined ? '' : ` (rendered by ${renderer.name})`
after(() => renderer?.close())

/** Renders values that the schema accepts, into manifests that fit the types of Kubernetes. */
function render(values: Values = {}, { name = 'annal', namespace = 'annal' } = {}): Manifest[] {
  if (!validate(merge(defaults, values))) throw new Error(JSON.stringify(validate.errors))
  const manifests = renderer!.render(name, namespace, values)
  const faults = manifests.flatMap(typeFaults)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return manifests
}

const serverOf = (manifests: readonly Manifest[]) => podOf(find(manifests, 'StatefulSet'))!.spec

const settingOf = ({ env = [] }: Container, name: string) => env.find((one) => one.name === name)?.value

/** Without what only a chart has: the name of the release in labels, and when to pull an image. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isMap(value)) return value
  const left = Object.entries(value).filter(
    ([name]) => !['app.kubernetes.io/instance', 'imagePullPolicy'].includes(name),
  )
  return Object.fromEntries(left.map(([name, one]) => [name, plain(one)]))
}

for (const variant of variants)
  test(`${variant}: the chart makes the plain manifests${by}`, { skip }, async (t) => {
    const rendered = render({ image: { tag: 'latest' }, cluster: { enabled: variant === 'cluster' } })
    const wanted = manifestsOf(variant).filter(({ metadata }) => metadata.name !== 'nats')
    const nameOf = ({ kind, metadata: { name, namespace } }: Manifest) => `${kind} ${namespace}/${name}`
    t.same(rendered.map(nameOf).sort(), wanted.map(nameOf).sort())
    for (const manifest of wanted) {
      const { metadata: _, ...same } = rendered.find((one) => nameOf(one) === nameOf(manifest))!
      const { metadata: __, ...rest } = manifest
      t.strictSame(plain(same), rest, nameOf(manifest))
    }
  })

test(`a cluster follows its values${by}`, { skip }, async (t) => {
  const urls = ['tls://a.example:4222', 'tls://b.example:4222']
  const manifests = render(
    { cluster: { enabled: true, nodes: 2, urls, monitorUrls: ['http://a.example:8222'], existingSecret: 'keys' } },
    { namespace: 'shop' },
  )
  const { containers, volumes } = serverOf(manifests)
  t.match(find(manifests, 'StatefulSet').spec, { replicas: 2, podManagementPolicy: 'Parallel' })
  t.equal(settingOf(containers[0]!, 'NDD_CLUSTER_URL'), urls.join(','))
  t.equal(settingOf(containers[0]!, 'NDD_CLUSTER_MONITOR_URL'), 'http://a.example:8222')
  t.equal(settingOf(containers[0]!, 'NDD_NODE_URL'), 'http://$(NDD_NODE_NAME).annal-pods.shop.svc:8080')
  t.match(volumes, [{ name: 'nats', secret: { secretName: 'keys' } }, { name: 'tmp' }])
  const [first] = serverOf(render({ cluster: { enabled: true } }, { namespace: 'shop' })).containers
  t.match(settingOf(first!, 'NDD_CLUSTER_URL'), /^tls:\/\/nats-0\.nats\.shop\.svc:4222,tls:\/\/nats-1\.[^,]+,[^,]+$/)
})

test(`a server follows its values${by}`, { skip }, async (t) => {
  const secret = { name: 'OPENAI_API_KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'openai' } } }
  const spread = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' }
  // The pod takes these as they are.
  const scheduling = {
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'disks', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    topologySpreadConstraints: [spread],
    priorityClassName: 'high',
    terminationGracePeriodSeconds: 600,
  }
  const manifests = render({
    image: { repository: 'registry.example/annal/server', tag: '1.2.3', pullPolicy: 'Always' },
    imagePullSecrets: [{ name: 'registry' }],
    existingSecret: 'token.of.annal',
    settings: { NDD_TOP_K_MAX: 2_000_000, NDD_BACKUP_EVERY_HOURS: '6', NDD_URL: 'a "quoted" $(text): {}', RATIO: 0.25 },
    extraEnv: [secret],
    extraEnvFrom: [{ secretRef: { name: 'bucket' } }],
    resources: { requests: { cpu: 2, memory: '8Gi' }, limits: { memory: '8Gi' } },
    persistence: { size: '1Ti', storageClass: 'fast' },
    service: { type: 'LoadBalancer', port: 80, annotations: { a: 'b' } },
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/annal' } },
    podLabels: { team: 'search' },
    ...scheduling,
    extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
    backup: { to: 's3://bucket/prefix', keep: 30, schedule: '0 4 * * *' },
  })
  const { spec, metadata } = find(manifests, 'StatefulSet')
  t.match(metadata, { labels: { 'app.kubernetes.io/managed-by': 'Helm', 'app.kubernetes.io/version': /^\d/ } })
  t.match(spec.template?.metadata.labels, { team: 'search', 'app.kubernetes.io/instance': 'annal' })
  t.match(spec.volumeClaimTemplates, [
    { spec: { storageClassName: 'fast', resources: { requests: { storage: '1Ti' } } } },
  ])
  const pod = serverOf(manifests)
  t.match(pod, {
    imagePullSecrets: [{ name: 'registry' }],
    ...scheduling,
  })
  const [server] = pod.containers
  t.match(server, {
    image: 'registry.example/annal/server:1.2.3',
    imagePullPolicy: 'Always',
    resources: { requests: { memory: '8Gi' } },
    envFrom: [{ secretRef: { name: 'bucket' } }],
    volumeMounts: [{ name: 'data' }, { name: 'tmp' }, { name: 'ca', mountPath: '/ca' }],
  })
  t.equal(settingOf(server!, 'NDD_TOP_K_MAX'), '2000000', 'helm reads numbers as floats')
  t.equal(settingOf(server!, 'RATIO'), '0.25')
  t.equal(settingOf(server!, 'NDD_URL'), 'a "quoted" $(text): {}')
  t.equal(settingOf(server!, 'NDD_BACKUP_EVERY_HOURS'), '6')
  t.strictSame(server?.env?.at(-1), secret)
  t.match(server?.env?.[0], { valueFrom: { secretKeyRef: { name: 'token.of.annal', key: 'token' } } })
  t.match(find(manifests, 'Service').spec, { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 'http' }] })
  t.match(find(manifests, 'ServiceAccount').metadata, { annotations: { 'eks.amazonaws.com/role-arn': /^arn/ } })
  const [job] = podOf(find(manifests, 'CronJob'))!.spec.containers
  t.equal(settingOf(job!, 'NDD_SERVER_URL'), 'http://annal:80')
  t.equal(settingOf(job!, 'ANNAL_BACKUP_TO'), 's3://bucket/prefix')
  t.equal(settingOf(job!, 'ANNAL_BACKUP_KEEP'), '30')
})

test(`what is turned off is not there, and what is turned on is${by}`, { skip }, async (t) => {
  const off = { enabled: false }
  const least = render({
    podDisruptionBudget: off,
    networkPolicy: off,
    backup: off,
    serviceAccount: { create: false },
    podAnnotations: { 'prometheus.io/scrape': 'false' },
  })
  t.same(least.map(({ kind }) => kind).sort(), ['Service', 'Service', 'StatefulSet'])
  t.match(serverOf(least), { serviceAccountName: 'default' })
  const peer = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }
  const rule = { ports: [{ port: 5432 }] }
  const digest = `sha256:${'0a'.repeat(32)}`
  const most = render({
    image: { digest },
    ingress: {
      enabled: true,
      className: 'nginx',
      hosts: ['v.example'],
      tls: [{ secretName: 'v', hosts: ['v.example'] }],
    },
    networkPolicy: { extraIngress: [peer], extraEgress: [rule] },
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
  })
  const monitor = find(most, 'PodMonitor')
  t.match(monitor.metadata, { labels: { release: 'prometheus' } })
  t.match(monitor.spec, {
    podMetricsEndpoints: [
      {
        port: 'http',
        path: '/metrics',
        authorization: { credentials: { name: 'annal', key: 'token' } },
        relabelings: [{ targetLabel: 'job', replacement: 'annal-annal-annal' }],
      },
    ],
  })
  t.match(find(most, 'Ingress').spec, {
    ingressClassName: 'nginx',
    tls: [{ secretName: 'v' }],
    rules: [
      { host: 'v.example', http: { paths: [{ backend: { service: { name: 'annal', port: { name: 'http' } } } }] } },
    ],
  })
  const { ingress, egress } = find(most, 'NetworkPolicy').spec as unknown as {
    readonly ingress: readonly [{ readonly from: readonly unknown[] }]
    readonly egress: readonly unknown[]
  }
  t.strictSame(ingress[0].from.at(-1), peer)
  t.strictSame(egress.at(-1), rule)
  t.equal(serverOf(most).containers[0]?.image, `annal/server@${digest}`)
})

test(`any name of a release makes names that Kubernetes accepts${by}`, { skip }, async (t) => {
  const long = `${'a'.repeat(44)}.${'b'.repeat(8)}`
  for (const name of ['annal', 'shop', 'shop.v1', 'annal.2', long]) {
    const manifests = render({}, { name })
    for (const manifest of manifests)
      t.match(manifest.metadata.name, /^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$/, manifest.kind)
    const labels = podOf(find(manifests, 'StatefulSet'))!.metadata.labels
    t.equal(labels['app.kubernetes.io/instance'], name)
  }
  t.throws(() => render({}, { name: '1annal' }), /set fullnameOverride/)
  t.equal(find(render({ fullnameOverride: 'one' }, { name: '1' }), 'StatefulSet').metadata.name, 'one')
})

test(`two releases in one namespace select their own pods${by}`, { skip }, async (t) => {
  const [shop, annal] = [render({}, { name: 'shop' }), render()]
  const { labels } = podOf(find(shop, 'StatefulSet'))!.metadata
  const includes = (wanted: Labels) => Object.entries(wanted).every(([name, value]) => labels[name] === value)
  for (const [manifests, expected] of [
    [shop, true],
    [annal, false],
  ] as const)
    for (const { kind, spec } of manifests) {
      const selector =
        kind === 'Service' ? spec.selector : (spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels)
      if (selector) t.equal(includes(selector as Labels), expected, kind)
    }
})

test(`settings cannot replace what the chart sets${by}`, { skip }, async (t) => {
  const [server] = serverOf(render({ cluster: { enabled: true } })).containers
  const settings = Object.keys((defaults as { readonly settings: object }).settings)
  for (const { name } of server?.env ?? [])
    if (!settings.includes(name)) t.notOk(validate(merge(defaults, { settings: { [name]: 'x' } })), name)
})
