// Manifests of Kubernetes as tests read them, and the types of Kubernetes that they must fit.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { parseAllDocuments } from 'yaml'

const docker = fileURLToPath(new URL('../', import.meta.url))
/** The folder of the plain manifests. */
export const place = path.join(docker, 'kubernetes')
export const variants = ['single', 'cluster'] as const

export type Labels = Readonly<Record<string, string>>

export interface Container {
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

export interface Pod {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly containers: readonly Container[]
    readonly volumes: readonly { readonly name: string }[]
    readonly securityContext: Readonly<Record<string, unknown>>
    readonly automountServiceAccountToken: boolean
  }
}

export interface Manifest {
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

const schema = JSON.parse(readFileSync(path.join(docker, 'schemas/kubernetes.schema.json'), 'utf8'))
const ajv = new Ajv({ strict: false, allErrors: true })
ajv.addSchema({ $id: 'kubernetes', ...schema })

/** A sentence for everything in a manifest that the types of Kubernetes do not have. */
export function typeFaults(manifest: Manifest): string[] {
  const validate = ajv.getSchema(`kubernetes#/${manifest.kind}`)
  if (validate === undefined) return [`there is no type ${manifest.kind}`]
  validate(manifest)
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${manifest.kind} ${manifest.metadata.name}${instancePath}: ${message} ${JSON.stringify(params)}`,
  )
}

/** Reads documents of YAML as Kubernetes does, and throws at the first fault. */
export function manifestsIn(text: string): Manifest[] {
  const documents = parseAllDocuments(text, { version: '1.1' })
  for (const { errors } of documents) if (errors[0]) throw errors[0]
  return documents.flatMap((document) => (document.toJS() as Manifest | null) ?? [])
}

/** The plain manifests of a variant. */
export function manifestsOf(variant: string): Manifest[] {
  const files = readdirSync(path.join(place, variant)).filter((name) => name.endsWith('.yml'))
  return files.flatMap((file) => manifestsIn(readFileSync(path.join(place, variant, file), 'utf8')))
}

export function podOf({ spec }: Manifest): Pod | undefined {
  return spec?.template ?? spec?.jobTemplate?.spec.template
}
