export { type AppOptions, createApp } from './app.ts'
export { verifyAudit } from './audit.ts'
export { type BucketPlace, parseBucketPlace } from './bucket-place.ts'
export {
  type Config,
  ConfigError,
  type ConfigRead,
  readConfig,
  type Setting,
  settings,
  settingsWithoutEffect,
} from './config.ts'
export { type DashboardOptions, type RunningDashboard, startDashboard } from './dashboard-server.ts'
export { EngineSlot, slotWith } from './engine-slot.ts'
export type { ErrorBody, ServerErrorCode } from './errors.ts'
export { type Exit, exitOf } from './exit.ts'
export {
  createLicenceKeys,
  issueLicence,
  type Licence,
  type LicenceKeys,
  readLicence,
} from './licence/licence-file.ts'
export { builtInPublicKey } from './licence/public-key.ts'
export { type RunningServer, startServer } from './serve.ts'
