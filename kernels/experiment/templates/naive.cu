// A matrix product without tiles: one thread computes one element of P.
//
// Each thread reads 2 Width elements from global memory: a row of M and a column of N. The caches help, but every
// multiply-add still needs two loads.

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < Width && column < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k) {
            sum += M[row * Width + k] * N[k * Width + column];
        }
        P[row * Width + column] = sum;
    }
}
