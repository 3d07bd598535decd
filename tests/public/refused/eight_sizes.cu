#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int numARows, int numAColumns, int numBRows,
                                int numBColumns, int numCRows, int numCColumns) {
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y, c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (r < numCRows && c < numCColumns) {
        float s = 0;
        for (int k = 0; k < numAColumns; ++k) s += A[r * numAColumns + k] * B[k * numBColumns + c];
        C[r * numCColumns + c] = s;
    }
}
