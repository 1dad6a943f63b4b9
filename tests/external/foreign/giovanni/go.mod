module foreign

go 1.26.0

require (
	github.com/hashicorp/go-azure-sdk/sdk v0.20240422.1112441
	github.com/jackofallops/giovanni v0.29.0
)

require (
	github.com/golang/protobuf v1.5.3 // indirect
	github.com/hashicorp/go-azure-helpers v0.66.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.7 // indirect
	github.com/hashicorp/go-uuid v1.0.3 // indirect
	github.com/hashicorp/go-version v1.6.0 // indirect
	golang.org/x/crypto v0.21.0 // indirect
	golang.org/x/net v0.23.0 // indirect
	golang.org/x/oauth2 v0.16.0 // indirect
	google.golang.org/appengine v1.6.7 // indirect
	google.golang.org/protobuf v1.33.0 // indirect
	software.sslmate.com/src/go-pkcs12 v0.4.0 // indirect
)
