/* Stops the program
   at the first error. */
#define CHECK(call)                                     \
    do {                                                \
        cudaError_t error = call;                       \
        if (error != cudaSuccess) {                     \
            printf("%s\n", cudaGetErrorString(error));  \
            exit(1);                                    \
        }                                               \
    } while (0)

