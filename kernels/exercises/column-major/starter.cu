// Matrix multiplication, P = M * N, where N lies in memory column by column. M and P lie row by row.
//
// This is the kernel for matrices that all lie row by row. One index is no longer right. Which one, and what is it
// now? Before you run it: how far apart are the elements of N that two neighbouring threads read in the same turn?
//
// Check it with:  tilelab grade starter.cu --exercise column-major

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;

    if (Row < Width && Col < Width) {
        float Pvalue = 0.0f;
        for (int k = 0; k < Width; ++k) {
            Pvalue += M[Row * Width + k] * N[k * Width + Col];
        }
        P[Row * Width + Col] = Pvalue;
    }
}
