export { type AppOptions, createApp } from './app.ts'
export { type BucketPlace, parseBucketPlace } from './backups/bucket-place.ts'
export { type Config, ConfigError, type ConfigRead, readConfig } from './config.ts'
export { type DashboardOptions, type RunningDashboard, startDashboard } from './dashboard-server.ts'
export { EngineSlot, slotWith } from './engine-slot.ts'
export type { ErrorBody, ServerErrorCode } from './errors.ts'
export { type Exit, exitOf } from './exit.ts'
export {
  createLicenseKeys,
  issueLicense,
  type License,
  type LicenseKeys,
  readLicense,
} from './license/license-file.ts'
export { builtInPublicKey } from './license/public-key.ts'
export { verifyAudit } from './observe/audit.ts'
export { type RunningServer, startServer } from './serve.ts'
export { type Setting, settings, settingsWithoutEffect } from './settings.ts'
