{{- define "sallyport.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The variables for ${env:NAME} in gateway.yaml. The first two are the addresses in the file of `sallyport init`. */}}
{{- define "sallyport.env" -}}
{{- $own := dict "GATEWAY_LISTEN" (printf "0.0.0.0:%v" .Values.ports.http) "GATEWAY_ADMIN" (printf "0.0.0.0:%v" .Values.ports.admin) -}}
{{- $secrets := dict -}}
{{- with .Values.sessionKey.existingSecret -}}
{{- $_ := set $secrets "SESSION_KEY" (dict "secret" . "key" $.Values.sessionKey.key) -}}
{{- end -}}
{{- with .Values.adminToken.existingSecret -}}
{{- $_ := set $secrets "SALLYPORT_ADMIN_TOKEN" (dict "secret" . "key" $.Values.adminToken.key) -}}
{{- end -}}
{{- with .Values.shared.existingSecret -}}
{{- $_ := set $secrets "SHARED_URL" (dict "secret" . "key" $.Values.shared.key) -}}
{{- end -}}
{{- $secrets = merge (deepCopy .Values.secretEnv) $secrets -}}
{{- range $name, $value := merge (deepCopy .Values.env) $own -}}
{{- if hasKey $secrets $name -}}
{{- fail (printf "%s is in env and in a Secret: remove one" $name) -}}
{{- end }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end -}}
{{- range $name, $from := $secrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: { name: {{ $from.secret | quote }}, key: {{ $from.key | quote }} }
{{- end -}}
{{- end -}}
