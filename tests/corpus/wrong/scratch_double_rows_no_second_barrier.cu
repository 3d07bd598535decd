//!tilelab block=(64,1) grid=(ceil(Width/64), ceil(Width/4))
__device__ double staged[32 * 2][128];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    int col = blockIdx.x * 64 + threadIdx.x;
    double* row = staged[blockIdx.y * 2 + blockIdx.x];
    for (int r = blockIdx.y * 4; r < blockIdx.y * 4 + 4 && r < Width; ++r) {
        for (int k = threadIdx.x; k < Width; k += 64) row[k] = M[r * Width + k];
        __syncthreads();
        double sum = 0;
        if (col < Width) {
            for (int k = 0; k < Width; ++k) sum += row[k] * N[k * Width + col];
            P[r * Width + col] = (float)sum;
        }
    }
}
