{{/* The name of all objects of a release. */}}
{{- define "headrace.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* What selects the pod. */}}
{{- define "headrace.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headrace.labels" -}}
{{ include "headrace.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* What the runner and the REST service have in common. */}}
{{- define "headrace.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.secret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: data
    mountPath: /data
  - name: conf
    mountPath: /app/conf/{{ .Values.target }}.yml
    subPath: {{ .Values.target }}.yml
    readOnly: true
  {{- if .Values.secret }}
  - name: secret
    mountPath: /run/secrets/headrace
    readOnly: true
  {{- end }}
{{- end -}}
