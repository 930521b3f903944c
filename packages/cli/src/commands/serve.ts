// `annal serve`: runs the server with options instead of environment variables.
import { capYoungGeneration } from '../young-generation.ts'

export interface ServeOptions {
  readonly dataDir?: string
  readonly port?: string
  readonly host?: string
  /** NATS servers of the cluster that the server is a node of, comma-separated. */
  readonly cluster?: string
  /** The archive that the server follows. */
  readonly follow?: string
}

/** Resolves when the server is ready; from then on the server ends the process. */
export async function serve(options: ServeOptions): Promise<void> {
  capYoungGeneration()
  // The server reads and validates its settings from the environment, whatever set them.
  if (options.dataDir !== undefined) process.env.NDD_DATA_DIR = options.dataDir
  if (options.port !== undefined) process.env.NDD_SERVER_PORT = options.port
  if (options.host !== undefined) process.env.NDD_HOST = options.host
  if (options.cluster !== undefined) process.env.NDD_CLUSTER_URL = options.cluster
  if (options.follow !== undefined) process.env.NDD_FOLLOW_S3 = options.follow
  await import('@annal/server/main')
}
