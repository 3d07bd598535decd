#include <cuda.h>

// Compute C = A * B, square here
__global__ void MatrixMulKernel(float* A, float* B, float* C, int Width) {
    int numARows = Width, numAColumns = Width;
    int numBRows = Width, numBColumns = Width;
    int numCRows = numARows, numCColumns = numBColumns;
    (void)numBRows;

    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (y < numCRows && x < numCColumns) {
        float partial = 0.0;
        for (int step = 0; step < numAColumns; ++step) {
            partial += A[y * numAColumns + step] * B[step * numBColumns + x];
        }
        C[y * numCColumns + x] = partial;
    }
}
