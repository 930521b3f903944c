// The settings in the environment, checked by the server's own parser.
import { ConfigError, readConfig } from '@annal/server'
import { attention, bad, type Finding, good } from './finding.ts'

export interface SettingsFound {
  readonly findings: readonly Finding[]
  readonly host: string
  readonly port: number
}

const page = 'see docs/reference/configuration.md'

export function settingsFindings(environment: NodeJS.ProcessEnv): SettingsFound {
  try {
    const { config, warnings } = readConfig(environment)
    const findings = warnings.map((warning) => attention('settings', warning, page))
    return {
      findings: findings.length > 0 ? findings : [good('settings', 'valid')],
      host: config.host,
      port: config.port,
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const findings = error.problems.map((problem) => bad('settings', problem, page))
    return { findings, host: '127.0.0.1', port: 8080 }
  }
}
