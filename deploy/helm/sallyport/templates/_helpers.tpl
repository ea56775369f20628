{{- define "sallyport.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "sallyport.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 57 | trimSuffix "-" -}}
{{- else if contains (include "sallyport.name" .) .Release.Name -}}
{{- .Release.Name | trunc 57 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "sallyport.name" .) | trunc 57 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sallyport.selector" -}}
app.kubernetes.io/name: {{ include "sallyport.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sallyport.labels" -}}
{{ include "sallyport.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Whether several replicas may run at a time; empty means no. */}}
{{- define "sallyport.isReplicated" -}}
{{- if .Values.autoscaling.enabled -}}
{{- if gt (int .Values.autoscaling.maxReplicas) 1 }}yes{{ end -}}
{{- else if gt (int .Values.replicas) 1 }}yes{{ end -}}
{{- end -}}

{{/* Whether the configuration has a front door; empty means no. */}}
{{- define "sallyport.hasFrontDoor" -}}
{{- if hasKey (fromYaml (.Values.config | default (.Files.Get "files/gateway.yaml"))) "front_door" }}yes{{ end -}}
{{- end -}}

{{/* Host name → Service, as JSON, of the values of an ingress or a route with the given name. */}}
{{- define "sallyport.hosts" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $key := index . 2 -}}
{{- $service := include "sallyport.fullname" $root -}}
{{- if not $values.host -}}
{{- fail (printf "%s.host is empty: write the host name of public_url" $key) -}}
{{- end -}}
{{- $hosts := dict $values.host $service -}}
{{- with $values.frontDoorHost -}}
{{- if not (include "sallyport.hasFrontDoor" $root) -}}
{{- fail (printf "%s.frontDoorHost is set, but config has no front_door" $key) -}}
{{- end -}}
{{- if eq . $values.host -}}
{{- fail (printf "%s.frontDoorHost is also %s.host: a front door below a path has a route in config" $key $key) -}}
{{- end -}}
{{- $_ := set $hosts . (printf "%s-front-door" $service) -}}
{{- end -}}
{{- $hosts | toJson -}}
{{- end -}}

{{/* The text of every policy by its name, as JSON: the chart's files, replaced by the values. */}}
{{- define "sallyport.policies" -}}
{{- $policies := dict -}}
{{- range $path, $_ := .Files.Glob "files/policies/*.yaml" -}}
{{- if not (hasSuffix ".test.yaml" $path) -}}
{{- $_ := set $policies (base $path | trimSuffix ".yaml") ($.Files.Get $path) -}}
{{- end -}}
{{- end -}}
{{- range $name, $text := .Values.policies -}}
{{- $_ := set $policies $name $text -}}
{{- end -}}
{{- $policies | toJson -}}
{{- end -}}
