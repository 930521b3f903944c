// Makes the JSON Schemas next to this file from type declarations that the makers of the interfaces publish, so that a test can check manifests
// and the dashboard without a network. They are strict: a key that the types do not have is an error. To make them again:
//   mkdir /tmp/types && cd /tmp/types && npm install kubernetes-models@5.1.0 @kubernetes-models/prometheus-operator@6.0.0 @grafana/grafana-foundation-sdk@0.0.21
//   node docker/schemas/generate.ts /tmp/types
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

type Schema = Readonly<Record<string, unknown>>

/** Names of definitions: file within node_modules and type. */
interface Wanted {
  readonly file: string
  readonly comment: string
  readonly types: Readonly<Record<string, readonly [file: string, type: string]>>
}

const kubernetes = (folder: string, kind: string) => [`kubernetes-models/${folder}/${kind}.d.ts`, `I${kind}`] as const
const operator = (kind: string) =>
  [`@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/${kind}.d.ts`, `I${kind}`] as const
const grafana = (folder: string, type: string) =>
  [`@grafana/grafana-foundation-sdk/dist/${folder}/types.gen.d.ts`, type] as const

const outputs: readonly Wanted[] = [
  {
    file: 'kubernetes.schema.json',
    comment:
      'From the types of kubernetes-models 5.1.0 (MIT), which are made from the OpenAPI document of Kubernetes (Apache-2.0), and of @kubernetes-models/prometheus-operator 6.0.0 (MIT), from the resources of the Prometheus operator (Apache-2.0).',
    types: {
      ConfigMap: kubernetes('v1', 'ConfigMap'),
      CronJob: kubernetes('batch/v1', 'CronJob'),
      Namespace: kubernetes('v1', 'Namespace'),
      Ingress: kubernetes('networking.k8s.io/v1', 'Ingress'),
      NetworkPolicy: kubernetes('networking.k8s.io/v1', 'NetworkPolicy'),
      PodDisruptionBudget: kubernetes('policy/v1', 'PodDisruptionBudget'),
      PodMonitor: operator('PodMonitor'),
      Secret: kubernetes('v1', 'Secret'),
      Service: kubernetes('v1', 'Service'),
      ServiceAccount: kubernetes('v1', 'ServiceAccount'),
      StatefulSet: kubernetes('apps/v1', 'StatefulSet'),
    },
  },
  {
    file: 'grafana.schema.json',
    comment: 'From the types of @grafana/grafana-foundation-sdk 0.0.21 (Apache-2.0).',
    types: {
      Dashboard: grafana('dashboard', 'Dashboard'),
      PrometheusQuery: grafana('prometheus', 'Dataquery'),
      StatOptions: grafana('stat', 'Options'),
      TimeseriesFieldConfig: grafana('timeseries', 'FieldConfig'),
      TimeseriesOptions: grafana('timeseries', 'Options'),
    },
  },
]

const here = path.dirname(fileURLToPath(import.meta.url))

function generate(modules: string, { file, comment, types }: Wanted): void {
  const wanted = Object.entries(types)
  const files = wanted.map(([, [source]]) => path.join(modules, source))
  const program = ts.createProgram(files, {
    strict: true,
    skipLibCheck: true,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext,
  })
  const made = new Definitions(program.getTypeChecker())
  const entries = wanted.map(([name, [source, type]]) => [
    name,
    made.of(declared(program, path.join(modules, source), type)),
  ])
  const schema = { $comment: comment, ...Object.fromEntries(entries), $defs: made.sorted() }
  writeFileSync(path.join(here, file), `${JSON.stringify(schema)}\n`)
}

function declared(program: ts.Program, file: string, name: string): ts.Type {
  const source = program.getSourceFile(file)
  const checker = program.getTypeChecker()
  const symbol = source && checker.getSymbolAtLocation(source)
  const found = symbol && checker.getExportsOfModule(symbol).find((one) => one.name === name)
  if (found === undefined) throw new Error(`${file} does not export ${name}`)
  return checker.getDeclaredTypeOfSymbol(found)
}

/** Schemas of named types, each written once. */
class Definitions {
  readonly #checker: ts.TypeChecker
  readonly #names = new Map<ts.Type, string>()
  readonly #made = new Map<string, Schema>()

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  sorted(): Record<string, Schema> {
    return Object.fromEntries([...this.#made].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  of(type: ts.Type): Schema {
    if (type.isUnion()) return this.#union(type.types)
    if (type.isLiteral()) return { const: type.value }
    const { flags } = type
    if (flags & ts.TypeFlags.BooleanLiteral) return { const: this.#checker.typeToString(type) === 'true' }
    if (flags & ts.TypeFlags.String) return { type: 'string' }
    if (flags & ts.TypeFlags.Number) return { type: 'number' }
    if (flags & ts.TypeFlags.Null) return { type: 'null' }
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#checker.getTypeArguments(type as ts.TypeReference)
      return { type: 'array', items: item === undefined ? {} : this.of(item) }
    }
    return flags & ts.TypeFlags.Object ? this.#object(type) : {}
  }

  #union(types: readonly ts.Type[]): Schema {
    const present = types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined))
    const [first, ...others] = present
    if (first !== undefined && others.length === 0) return this.of(first)
    const schemas = present.map((one) => this.of(one))
    if (schemas.every((schema) => 'const' in schema)) {
      const values = schemas.map(({ const: value }) => value)
      return values.every((value) => typeof value === 'boolean') ? { type: 'boolean' } : { enum: values }
    }
    const unique = new Map(schemas.map((schema) => [JSON.stringify(schema), schema]))
    return { anyOf: [...unique.values()] }
  }

  #object(type: ts.Type): Schema {
    const index = this.#checker.getIndexInfoOfType(type, ts.IndexKind.String)
    // JSON has no functions. A type with nothing else is a place for other types.
    const isData = (one: ts.Symbol) => this.#checker.getTypeOfSymbol(one).getCallSignatures().length === 0
    const all = this.#checker.getPropertiesOfType(type)
    const properties = all.filter(isData)
    if (properties.length === 0 && all.length > 0) return {}
    if (index !== undefined && properties.length === 0)
      return { type: 'object', additionalProperties: this.of(index.type) }
    const known = this.#names.get(type)
    if (known !== undefined) return { $ref: `#/$defs/${known}` }
    const name = this.#newName(type.aliasSymbol?.name ?? type.symbol.name)
    this.#names.set(type, name)
    const required = properties.filter(({ flags }) => !(flags & ts.SymbolFlags.Optional)).map((one) => one.name)
    const entries = properties.map((one) => [one.name, this.of(this.#checker.getTypeOfSymbol(one))])
    const additionalProperties = index === undefined ? false : this.of(index.type)
    this.#made.set(name, {
      type: 'object',
      properties: Object.fromEntries(entries),
      ...(required.length > 0 && { required }),
      additionalProperties,
    })
    return { $ref: `#/$defs/${name}` }
  }

  #newName(symbol: string): string {
    const base = symbol.replace(/^I(?=[A-Z][a-z])/, '').replace('__type', 'Anonymous')
    const taken = new Set(this.#names.values())
    let name = base
    for (let n = 2; taken.has(name); n++) name = `${base}${n}`
    return name
  }
}

const [directory = ''] = process.argv.slice(2)
for (const output of outputs) generate(path.join(directory, 'node_modules'), output)
