// Prints the services of the packages that are generated from the protos.
package main

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "mobiletest/calls/v1"
	_ "mobiletest/catalog/v1"
	_ "mobiletest/executor/v1"
	_ "mobiletest/reporting/v1"
)

func main() {
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			fmt.Println(file.Services().Get(i).FullName())
		}
		return true
	})
}
