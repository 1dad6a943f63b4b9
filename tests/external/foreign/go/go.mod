module foreign

go 1.26.0

require github.com/Azure/azure-sdk-for-go/sdk/data/aztables v1.4.1
