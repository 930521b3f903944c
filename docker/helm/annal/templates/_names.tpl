{{/*
The name of all objects. A release may be called `shop.v1` or `1`, a Service may not. 45 characters leave room for the suffixes of pods, and
of jobs.
*/}}
{{- define "annal.fullname" -}}
{{- $long := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) }}
{{- $name := .Values.fullnameOverride | default $long | replace "." "-" | trunc 45 | trimSuffix "-" }}
{{- if not (regexMatch "^[a-z]" $name) }}
{{- fail (printf "objects would be named %s: a Service begins with a letter; set fullnameOverride" $name) }}
{{- end }}
{{- $name }}
{{- end }}

{{/* What selects the pods of this release. It must not change when the release is upgraded. */}}
{{- define "annal.release" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "annal.server" -}}
{{ include "annal.release" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "annal.labels" -}}
{{ include "annal.release" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "annal.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "annal.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "annal.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* helm reads every number of a file as a float, and would print 2000000 as 2e+06. */}}
{{- define "annal.text" -}}
{{- if kindIs "float64" . }}{{ if eq (floor .) . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* URLs of the cluster's servers: those given, or those of docker/kubernetes/cluster/nats.yml. */}}
{{- define "annal.natsUrls" -}}
{{- if .given }}{{ join "," .given }}{{ else }}
{{- range $i := until 3 }}{{ if $i }},{{ end }}{{ printf $.form $i $.namespace }}{{ end }}
{{- end }}
{{- end }}
