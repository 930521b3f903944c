// A server with the S3 API and one key, with its objects in a directory. It does not check signatures, which are up to the client library.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import S3rver from 's3rver'
import type { Test } from 'tap'

export const s3Bucket = 'annal-backups'

export interface S3Server {
  readonly endpoint: string
  readonly directory: string
  /** The environment variables with which other processes reach it. */
  readonly environment: Readonly<Record<string, string>>
}

/** The variables of this process point to it until the test ends. */
export async function s3Server(t: Test): Promise<S3Server> {
  const directory = await mkdtemp(path.join(tmpdir(), 'annal-s3-'))
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: s3Bucket, configs: [] }],
  })
  const { port } = await server.run()
  t.teardown(async () => {
    await server.close()
    await rm(directory, { recursive: true, force: true })
  })
  const endpoint = `http://127.0.0.1:${port}`
  const environment = {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: 'us-east-1',
    // The only key that this server accepts.
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  }
  for (const [name, value] of Object.entries(environment)) setVariable(t, name, value)
  return { endpoint, directory, environment }
}

export function setVariable(t: Test, name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  t.teardown(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
}
