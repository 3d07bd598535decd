//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x + blockIdx.x * 16;
    int ty = threadIdx.y + blockIdx.y * 16;
    if (tx < Width && ty < Width) {
        float half = 0.0f;
        for (int k = blockIdx.z; k < Width; k += 2)
            half += M[ty * Width + k] * N[k * Width + tx];
        P[ty * Width + tx] = blockIdx.z == 0 ? half : half + P[ty * Width + tx];
        __threadfence();
    }
}
