// The oldest Node.js that runs the engine, as `engines` of package.json says. npm only warns, and an older version would fail in the
// middle of a call.
import { EngineError } from './errors.ts'

export const nodeVersionMin = '22.12.0'

/** Throws `node_too_old` if this process runs on an older version. */
export function refuseOldNode(version: string = process.versions.node): void {
  if (numberOf(version) >= numberOf(nodeVersionMin)) return
  throw new EngineError(
    'node_too_old',
    `Annal needs Node.js ${nodeVersionMin} or newer, and this process runs on ${version}`,
    { field: 'node', value: version, limit: nodeVersionMin },
  )
}

function numberOf(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major * 1_000 + minor
}
